/* Search from disk: browsers start no worker for a page that was opened as a file, so the search runs in a hidden frame. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.receive(data);
      inside.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => this.load(new URL(each, url).href)), Promise.resolve());
      this.load(url).then(() => {
        const waited = this.waiting;
        this.waiting = null;
        waited.forEach((data) => this.postMessage(data));
      });
    }

    load(url) {
      return new Promise((done, failed) => {
        const page = this.frame.contentDocument;
        const script = page.createElement("script");
        script.src = url;
        script.onload = done;
        script.onerror = failed;
        page.head.append(script);
      });
    }

    receive(data) {
      const told = new MessageEvent("message", { data });
      this.dispatchEvent(told);
      if (this.onmessage) this.onmessage(told);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
