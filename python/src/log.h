#pragma once

namespace frazil::python {

/// Waits until Python's loggers have received the messages so far, for at most a second. Does nothing on the thread
/// that delivers them. Call it with the interpreter's lock, which it releases meanwhile.
void flush_log();
/// Lets the library send messages for debugging if the logger 'frazil' is enabled for them. Call it with the
/// interpreter's lock.
void refresh_log();

}  // namespace frazil::python
