// Says what is known of a thing that is pointed at, or that the arrow keys have come to.
// <html data-charts> tells how many charts do so.
(function () {
  "use strict";
  const root = document.documentElement;
  const failed = (why) => root.setAttribute("data-charts", "failed: " + why);
  window.addEventListener("error", (event) => failed(event.message));
  document.addEventListener("securitypolicyviolation", (event) =>
    failed("blocked " + event.violatedDirective + " " + event.blockedURI));

  const page = JSON.parse(document.getElementById("charts").textContent);
  const near = 16;
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  // What is drawn, in the order of the arrow keys, each with its place from back to front.
  function sorted(layers, along) {
    const all = layers.flatMap((layer) => layer.places.map((place, number) => {
      const [left, top, right = left, bottom = top] = place;
      return { left, top, right, bottom, text: page.hovers[layer.hovers][number] };
    }));
    all.forEach((thing, depth) => { thing.depth = depth; });
    const [first, second] = along === "y" ? ["top", "left"] : ["left", "top"];
    return all.sort((one, other) =>
      one[first] - other[first] || one[second] - other[second] || one.depth - other.depth);
  }

  // The nearest point, else the foremost box under the pointer; places are shares of the drawing.
  function under(things, x, y, width, height) {
    let found = -1;
    let least = near;
    things.forEach((thing, number) => {
      const across = Math.max(thing.left - x, 0, x - thing.right) * width;
      const down = Math.max(thing.top - y, 0, y - thing.bottom) * height;
      const isPoint = thing.left === thing.right && thing.top === thing.bottom;
      const far = isPoint ? Math.hypot(across, down) : Math.max(across, down) > 2 ? near : near - 1;
      const front = found >= 0 && far === least && thing.depth > things[found].depth;
      if (far < least || front) { found = number; least = far; }
    });
    return found;
  }

  function added(plot, kind) {
    const made = document.createElement("div");
    made.className = kind;
    made.hidden = true;
    plot.append(made);
    return made;
  }

  function start(figure) {
    const plot = document.getElementById(figure.id);
    const ring = added(plot, "ring");
    const tip = added(plot, "tip");
    const kept = {};
    let at = -1;
    tip.setAttribute("role", "status");
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-roledescription", "chart");
    plot.setAttribute("aria-label", plot.getAttribute("aria-label") + " Arrow keys go from value to value.");
    plot.tabIndex = 0;

    // The drawing that is seen at this width.
    function seen() {
      for (const kind of Object.keys(figure.drawings)) {
        const room = plot.querySelector(":scope > ." + kind).getBoundingClientRect();
        if (room.width) {
          kept[kind] = kept[kind] || sorted(figure.drawings[kind], figure.along);
          return { room, things: kept[kind] };
        }
      }
      return { room: plot.getBoundingClientRect(), things: [] };
    }

    function hide() { ring.hidden = tip.hidden = true; }

    function show(number, { room, things }) {
      const thing = things[number];
      if (!thing) { hide(); return; }
      at = number;
      tip.textContent = thing.text;
      ring.hidden = tip.hidden = false;
      const left = thing.left * room.width;
      const top = thing.top * room.height;
      const right = thing.right * room.width;
      const bottom = thing.bottom * room.height;
      const edge = left === right && top === bottom ? 7 : 2;
      Object.assign(ring.style, {
        left: left - edge + "px", top: top - edge + "px",
        width: right - left + 2 * edge + "px", height: bottom - top + 2 * edge + "px",
      });
      const beside = (left + right) / 2 > room.width / 2 ? right - tip.offsetWidth : left;
      const most = plot.clientWidth - tip.offsetWidth;
      tip.style.left = Math.max(0, Math.min(beside, most)) + "px";
      tip.style.top = bottom + edge + 5 + "px";
    }

    function point(event) {
      const now = seen();
      const x = (event.clientX - now.room.left) / now.room.width;
      const y = (event.clientY - now.room.top) / now.room.height;
      show(under(now.things, x, y, now.room.width, now.room.height), now);
    }

    function go(event) {
      const now = seen();
      const last = now.things.length - 1;
      if (event.key === "Escape") hide();
      else if (event.key in steps) show(Math.max(0, Math.min(last, at + steps[event.key])), now);
      else if (event.key === "Home") show(0, now);
      else if (event.key === "End") show(last, now);
      else return;
      event.preventDefault();
    }

    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    plot.addEventListener("keydown", go);
    plot.addEventListener("blur", hide);
    plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) show(Math.max(0, at), seen()); });
  }

  page.figures.forEach(start);
  if (!root.hasAttribute("data-charts")) root.setAttribute("data-charts", "drawn " + page.figures.length);
})();
