/* recording/being_written.h - is somebody still writing this file?
 *
 * A recorder writes events into mapped pages, which changes neither the file's size nor, for a
 * while, its time of modification. But the system knows who has a file open or mapped for writing.
 */
#ifndef RECORDING_BEING_WRITTEN_H
#define RECORDING_BEING_WRITTEN_H

#include "base/compiler.h"

/* fd: open for reading only. Where the system does not say (a file of another user, a network file
 * system), a file that was changed less than a minute ago counts as being written. */
bool being_written(int fd);

#endif
