//! What happens, and in which order at one instant.

/// The event that an agent has pending in its slot of the future event list. Closed: the system
/// matches on all. One more slot, the launcher's, has the start of the next child pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An agent's response ends.
    ResponseEnd,
    /// An agent sends its next request.
    RequestStart,
    /// An agent tries a request again that failed.
    Retry,
    /// A waiting agent keeps its entries alive.
    KeepAlive,
}

/// Order at one instant (semantics E7, X3). Entries expire and become readable by comparison of
/// times, before all of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EventClass {
    /// Responses end first, so that all completions of one instant are known to whoever goes on.
    Response = 0,
    /// Then start the requests that were held until an entry became readable.
    HeldStart = 1,
    /// Then all other requests, in the order in which they were scheduled.
    Start = 2,
}
