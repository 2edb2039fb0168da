// Draws every chart of the page; <html data-charts> says how that ended.
(function () {
  "use strict";
  const root = document.documentElement;
  const failed = (why) => root.setAttribute("data-charts", "failed: " + why);
  window.addEventListener("error", (event) => failed(event.message));
  window.addEventListener("unhandledrejection", (event) => failed(String(event.reason)));
  document.addEventListener("securitypolicyviolation", (event) =>
    failed("blocked " + event.violatedDirective + " " + event.blockedURI));

  const page = JSON.parse(document.getElementById("charts").textContent);
  const narrow = 600;
  const printed = 660;

  function config(figure) {
    return {
      displaylogo: false, responsive: false, showTips: false, plotlyServerURL: "", topojsonURL: "",
      displayModeBar: figure.tools ? "hover" : false,
      modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
      toImageButtonOptions: { format: "svg", filename: figure.name },
    };
  }

  function draw(figure, width) {
    const place = document.getElementById(figure.id);
    const room = Math.floor(width || place.clientWidth);
    const small = room < narrow;
    const layout = structuredClone(small ? figure.narrow : figure.layout);
    layout.width = room;
    const data = (small && figure.narrow_data) || figure.data;
    // Anew, for from one layout to the other plotly.js keeps margins that no longer fit.
    return Plotly.newPlot(place, data, layout, config(figure));
  }

  function all(width) {
    return Promise.all(page.figures.map((figure) => {
      const place = document.getElementById(figure.id);
      return draw(figure, width && Math.min(width, place.clientWidth));
    }));
  }

  for (const figure of page.figures) {
    for (const trace of [...figure.data, ...(figure.narrow_data || [])]) {
      if (typeof trace.hovertext === "number") trace.hovertext = page.hovers[trace.hovertext];
    }
  }
  let later = 0;
  let before = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === before) return;
    before = document.body.clientWidth;
    clearTimeout(later);
    later = setTimeout(all, 120);
  }).observe(document.body);
  window.addEventListener("beforeprint", () => all(printed));
  window.addEventListener("afterprint", () => all());
  all().then(() => {
    if (!root.hasAttribute("data-charts")) root.setAttribute("data-charts", "drawn " + page.figures.length);
  });
})();
