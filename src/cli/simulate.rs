//! placeholder
use super::args::{RunOptions, SimulateOptions};
use super::failure::Failure;
pub(super) fn run(_o: &RunOptions) -> Result<(), Failure> {
    Ok(())
}
pub(super) fn compare(_o: &SimulateOptions) -> Result<(), Failure> {
    Ok(())
}
