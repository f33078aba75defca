// What answered what: points by round and side, and lines from each to those that it takes up.

const MOST_LINES = 160;  // drawn at once; of more, those of the point that is looked at

class ArgumentMap extends preact.Component {
  constructor() {
    super();
    this.state = { lines: [], width: 0, height: 0, focus: "" };
    this.box = preact.createRef();
    this.measure = this.measure.bind(this);
  }

  componentDidMount() {
    this.observer = new ResizeObserver(this.measure);
    this.observer.observe(this.box.current);
    this.measure();
  }

  componentWillUnmount() {
    this.observer.disconnect();
  }

  componentDidUpdate(before) {
    if (before.debate !== this.props.debate) this.measure();
  }

  measure() {
    const box = this.box.current;
    if (!box) return;
    const frame = box.getBoundingClientRect();
    const places = new Map(
      [...box.querySelectorAll("[data-point]")].map((card) => [card.dataset.point, card.getBoundingClientRect()]),
    );
    const lines = [];
    const { debate } = this.props;
    for (const link of debate.links) {
      const from = places.get(link.from);
      const to = places.get(link.to);
      if (!from || !to) continue;
      const side = debate.side(debate.byId.get(link.from).debater);
      lines.push({ ...link, path: drawLink(from, to, frame), side });
    }
    const [width, height] = [Math.round(frame.width), Math.round(frame.height)];
    this.setState({ lines, width, height });
  }

  look(event) {
    const focus = event.target.closest?.("[data-point]")?.dataset.point || "";
    if (focus !== this.state.focus) this.setState({ focus });
  }

  render({ debate }, { lines, width, height, focus }) {
    const near = new Set([focus]);
    for (const line of lines) if (line.from === focus || line.to === focus) near.add(line.from).add(line.to);
    const shown = lines.filter((line) =>
      focus ? line.from === focus || line.to === focus : lines.length <= MOST_LINES,
    );
    const look = (event) => this.look(event);
    const leave = () => this.setState({ focus: "" });
    return html`<div class=${"mapbox" + (focus ? " looking" : "")} ref=${this.box}
      onMouseOver=${look} onFocusIn=${look} onMouseLeave=${leave} onFocusOut=${leave}>
      <svg class="lines" width=${width} height=${height} viewBox="0 0 ${width} ${height}" aria-hidden="true">
        ${shown.map((line) => html`<path key=${`${line.from}>${line.to}>${line.relation}`}
          d=${line.path} data-side=${line.side % 26} class=${"link " + line.relation} />`)}
      </svg>
      <${MapGrid} debate=${debate} near=${near} />
    </div>`;
  }
}

function drawLink(from, to, frame) {
  const y1 = from.top - frame.top + Math.min(22, from.height / 2);
  const y2 = to.top - frame.top + Math.min(22, to.height / 2);
  if (to.right <= from.left) {
    const x1 = from.left - frame.left;
    const x2 = to.right - frame.left;
    const bend = Math.max(24, (x1 - x2) / 2);
    return `M ${x1} ${y1} C ${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`;
  }
  const x = Math.min(from.left, to.left) - frame.left;
  return `M ${x} ${y1} C ${x - 22} ${y1} ${x - 22} ${y2} ${x} ${y2}`;
}

function MapGrid({ debate, near }) {
  const rounds = unique(debate.points.map((point) => point.round)).sort((one, other) => one - other);
  const phase = (number) => debate.rounds.find((held) => held.round === number)?.phase || "";
  const isDim = (point) => near.size > 1 && !near.has(point.id);
  return html`<div class="mapgrid" style=${{ gridTemplateColumns: `repeat(${rounds.length}, minmax(200px, 1fr))` }}>
    ${rounds.map((number, column) => html`<h3 key=${"h" + number} style=${{ gridColumn: column + 1, gridRow: 1 }}>
      ${number}. ${humanize(phase(number))}
    </h3>`)}
    ${rounds.flatMap((number, column) =>
      debate.names.map((name, side) => {
        const points = debate.points.filter((point) => point.round === number && point.debater === name);
        if (!points.length) return null;
        return html`<ul key=${`${number} ${side}`} style=${{ gridColumn: column + 1, gridRow: side + 2 }}>
          ${points.map((point) => html`<${Card} key=${point.id} debate=${debate} point=${point} isDim=${isDim(point)} />`)}
        </ul>`;
      }),
    )}
  </div>`;
}

function Card({ debate, point, isDim }) {
  const links = debate.cites.get(point.id) || [];
  return html`<li class=${"pointcard" + (isDim ? " dimmed" : "")} data-point=${point.id} data-side=${debate.side(point.debater) % 26}>
    <a class="ref" href=${"#" + debate.address(point)}>${plain(point.id)}</a>
    <span class="gist"><${PlainText} debate=${debate} point=${point} /></span>
    <${PointTags} debate=${debate} point=${point} short />
    ${links.length > 0 && html`<small class="cites">
      ${links.map((link) => html`<span>${humanize(link.relation)} <${PointLink} debate=${debate} id=${link.to} /></span>`)}
    </small>`}
  </li>`;
}

function MapSection({ debate }) {
  if (!debate.points.length || !debate.links.length) return null;
  const { claims } = debate.drawing;
  const why =
    "Each point has an id. A line runs from a point to the one that it answers. Never answered: an attack that the other " +
    "side let pass, though it had a turn to answer it.";
  return html`<${Section} id="map" title="What answered what" why=${why}>
    <div class="card map">
      <${ArgumentMap} debate=${debate} />
      <p class="legend">
        <span><i class="key attacks"></i> attacks, undercuts</span>
        <span><i class="key supports"></i> supports, concedes</span>
        <span><span class="tag judge">in 2 readings</span> judges relied on it</span>
        <span><span class="tag good">quote checked</span> a document holds the words</span>
      </p>
    </div>
    ${(claims.common_ground.length > 0 || claims.between.length > 0) && html`<div class="panels two">
      <${Lines} debate=${debate} title="Common ground" lines=${claims.common_ground} />
      <${Lines} debate=${debate} title="What still divides them" lines=${claims.between} />
    </div>`}
  <//>`;
}

const Lines = ({ debate, title, lines }) =>
  lines.length > 0 &&
  html`<div class="card panel">
    <h3>${title}</h3>
    <ul class="moves">${lines.map((line) => html`<li class="words" dir="auto">${linkIds(debate, line)}</li>`)}</ul>
  </div>`;
