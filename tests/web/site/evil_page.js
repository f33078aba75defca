// What a page of another site tries against a site whose address it knows: what it could read, it returns.
async ([address, root]) => {
  const press = JSON.stringify({action: "pause", request_id: "press-0001"});
  const found = [];
  const attempt = async (name, options, url = address + "/presses") => {
    try { const r = await fetch(url, options); found.push([name, r.type, r.status, (await r.text()).length]); }
    catch (error) { found.push([name, "refused"]); }
  };
  await attempt("plain", {method: "POST", body: press, headers: {"Content-Type": "text/plain"}});
  await attempt("opaque", {method: "POST", mode: "no-cors", body: press});
  await attempt("json", {method: "POST", body: press, headers: {"Content-Type": "application/json"}});
  const question = JSON.stringify({question: "Evil?", run: true}), key = JSON.stringify({provider: "openai", key: "sk-evil-0123456789"});
  for (const [path, body] of [["debates", question], ["estimate", question], ["keys", key]])
    for (const options of [{mode: "no-cors"}, {headers: {"Content-Type": "application/json"}}, {headers: {"Content-Type": "text/plain"}}])
      await attempt(path, {method: "POST", body, ...options}, root + path);
  for (const options of [{mode: "no-cors"}, {headers: {"Content-Type": "application/octet-stream"}}])
    await attempt("documents", {method: "POST", body: "text", ...options}, root + "documents?name=a.txt");
  for (const path of ["/record", "/page.html"]) await attempt(path, {}, address + path);
  for (const path of ["choices", "list", "list?tag=release", "?outcome=leaning"]) await attempt(path, {}, root + path);
  await attempt("quiet", {mode: "no-cors"}, address + "/record");
  const source = new EventSource(root + "events");
  found.push(["events", await new Promise((told) => { source.onmessage = () => told("read"); source.onerror = () => told("refused"); })]);
  const form = document.createElement("form");
  Object.assign(form, {method: "POST", action: address + "/presses", target: "target", enctype: "text/plain"});
  const field = document.createElement("input");
  Object.assign(field, {name: press.slice(0, -1) + ',"text":"', value: '"}'});
  form.append(field); document.body.append(form); form.submit();
  const frame = document.createElement("iframe");
  frame.src = address; document.body.append(frame);
  const image = new Image(); image.src = address + "/record";
  await new Promise((done) => { image.onerror = done; image.onload = () => { found.push(["image"]); done(); }; });
  return found;
}
