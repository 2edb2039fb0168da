// Browsers refuse workers to pages that are opened from a file. The search of the site then runs in a
// hidden frame, which is the same to the page: MkDocs Material would fetch such a script from elsewhere.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      frame.onload = () => {
        const inside = frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = () => {
          this.post = (data) => inside.dispatchEvent(new MessageEvent("message", { data }));
          this.waiting.forEach((data) => this.post(data));
        };
        frame.onload = null;
        frame.contentDocument.head.append(script);
      };
      frame.srcdoc = "<title>search</title>";
      const append = () => document.body.append(frame);
      document.body ? append() : addEventListener("DOMContentLoaded", append);
    }
    postMessage(data) {
      this.post ? this.post(data) : this.waiting.push(data);
    }
  };
}
