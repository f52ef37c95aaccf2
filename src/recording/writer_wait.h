/* recording/writer_wait.h - waits until the recorder has finished the file of a program that ended.
 *
 * The recorder's writer outlives the program and completes the file, usually within milliseconds. A
 * reader that comes right after the program finds a recording that is sound, but says that it is
 * still being written.
 */
#ifndef RECORDING_WRITER_WAIT_H
#define RECORDING_WRITER_WAIT_H

#include "util/file.h"

/* If the writer holds its lock on the file and the program is gone, waits for the writer, three
 * seconds at most. Returns at once for anything else, or if it cannot tell. */
void writer_wait(struct file *f);

#endif
