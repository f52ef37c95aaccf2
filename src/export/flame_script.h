/* export/flame_script.h - the script inside an exported flame graph: zoom, search, keys. */
#ifndef EXPORT_FLAME_SCRIPT_H
#define EXPORT_FLAME_SCRIPT_H

/* JavaScript that defines mpFlame(DATA). It goes into a <script> before the call. */
extern const char flame_script[];

#endif
