/* script/lua_api.h - the header of Lua 5.4, which only script/ uses. */
#ifndef SCRIPT_LUA_API_H
#define SCRIPT_LUA_API_H

#include <lua.h>

#include <lauxlib.h>
#include <lualib.h>

#if LUA_VERSION_NUM != 504
#error "scripts are written for Lua 5.4"
#endif

#endif
