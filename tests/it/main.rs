//! Behavior of the library through its public interface.

mod traces;
