//! What several test modules share: the naive cache, small worlds, a generator of random numbers.

pub(crate) mod naive;
pub(crate) mod pair;
pub(crate) mod random;
pub(crate) mod world;
