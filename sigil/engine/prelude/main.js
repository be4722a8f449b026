// Last: what the author gets as `env`, what must not be there, and the hooks of shim.c.

const env = {
  KV: {
    get: async (key) => ask("kv.get", { key: `${key}` }),
    put: async (key, value, options = {}) => ask("kv.put", { key: `${key}`, value, ...options }),
    list: async (options = {}) => ask("kv.list", { ...options }),
    delete: async (key) => ask("kv.delete", { key: `${key}` }),
  },
  call: async (name, input) => ask("call", { name: `${name}`, input }),
};

function hide() {
  // Call sites would hand out the functions of the prelude; the engine's own names are not the web's.
  delete Error.prepareStackTrace;
  delete globalThis.InternalError;
  delete globalThis.SharedArrayBuffer;
}

const hooks = { describe, env };
hide();
return hooks;
