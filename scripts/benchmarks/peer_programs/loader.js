// workerd's Worker Loader: runs `source` in an isolate named `id`, which is made when there is none of that name.
export default {
  async fetch(request, env) {
    const { id, source, input } = await request.json();
    const worker = env.LOADER.get(id, () => ({
      compatibilityDate: "2025-11-01", mainModule: "main.js", modules: { "main.js": source }, globalOutbound: null,
    }));
    return worker.getEntrypoint().fetch(new Request("http://capability/", { method: "POST", body: JSON.stringify(input) }));
  },
};
