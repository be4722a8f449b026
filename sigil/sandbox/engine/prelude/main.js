// The end of the prelude: removes names that must not be there, and returns the hooks of shim.c.

function hide() {
  // Call sites would hand out the functions of the prelude; the engine's own names are not the web's.
  delete Error.prepareStackTrace;
  delete globalThis.InternalError;
  delete globalThis.SharedArrayBuffer;
}

const hooks = { describe, env, finish, guard, serve };
hide();
return hooks;
