import { afterEach, beforeEach, expect, test } from "vitest";
import { ApiError, HttpTransport, Unreachable, xsrfToken } from "../../src/core/api";
import { PREFIX, TestServer } from "./server";

let server: TestServer;
beforeEach(async () => { server = await TestServer.start(); });
afterEach(async () => { await server.stop(); });

const transport = (options = {}, token = "") => new HttpTransport({ baseUrl: server.baseUrl, token }, options);

async function refused(work: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await work.then(() => null, (e: unknown) => e);
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

test("addresses keep the base URL's prefix and its escaped characters", async () => {
  server.logs.set("a.2", []);
  await transport().request("GET", "messages/a.2/logs");
  expect(server.asked[0]?.path).toBe("messages/a.2/logs");
  expect(transport().url("hermes/static/core.js")).toBe(`${server.baseUrl}hermes/static/core.js`);
  expect(new HttpTransport({ baseUrl: server.baseUrl.slice(0, -1) }).url("x")).toContain(`${PREFIX}x`);
});

test("a write carries the XSRF cookie's value, a read does not, and a token is sent where the page has one", async () => {
  server.answers.set("POST sessions", () => ({ status: 201, body: { sessionId: "s" } }));
  const cookies = () => "a=1; _xsrf=2|abc=|; b=2";
  await transport({ cookies }, "t0ken").request("POST", "sessions", { title: "é" });
  await transport({ cookies }).request("GET", "sessions?offset=0");
  const [write, read] = server.asked;
  expect(write?.headers).toMatchObject({ "x-xsrftoken": "2|abc=|", authorization: "token t0ken", "content-type": "application/json" });
  expect(write?.body).toEqual({ title: "é" });
  expect(read?.headers["x-xsrftoken"]).toBeUndefined();
  expect(read?.headers.authorization).toBeUndefined();
});

test.each([
  ["_xsrf=a", "a"], ["x=1; _xsrf=b; _xsrf=c", "b"], ['_xsrf="ZXg="; y=2', "ZXg="], ["my_xsrf=d", null], ["", null],
])("the XSRF token of the cookies %j is %j", (cookies, token) => {
  expect(xsrfToken(cookies)).toBe(token);
});

test("an answer of 204 is nothing", async () => {
  server.answers.set("DELETE sessions/s", () => ({ status: 204, body: null }));
  expect(await transport().request("DELETE", "sessions/s")).toBeUndefined();
});

test("a refusal carries the server's code, sentence and details", async () => {
  server.answers.set("POST runs/a.2/resume", () => ({ status: 409, body: { error: { code: "already_answered", message: "Ada answered.", details: { by: "ada" } } } }));
  const error = await refused(transport().request("POST", "runs/a.2/resume", {}));
  expect([error.status, error.code, error.message, error.details]).toEqual([409, "already_answered", "Ada answered.", { by: "ada" }]);
});

test("a refusal by Jupyter or a proxy has a sentence too", async () => {
  server.answers.set("GET a", () => ({ status: 403, body: "<html>", type: "text/html" }));
  server.answers.set("GET b", () => ({ status: 500, body: { message: "Kernel on fire", reason: null } }));
  expect(await refused(transport().request("GET", "a"))).toMatchObject({ code: "http_403", message: expect.stringContaining("log in") as string });
  expect(await refused(transport().request("GET", "b"))).toMatchObject({ code: "http_500", message: "Kernel on fire" });
});

test("a login page in place of an answer is an error, not data", async () => {
  server.answers.set("GET models", () => ({ status: 200, body: "<html>login</html>", type: "text/html" }));
  expect(await refused(transport().request("GET", "models"))).toMatchObject({ code: "not_json" });
  server.answers.set("GET stream", () => ({ status: 200, body: "<html>login</html>", type: "text/html" }));
  expect(await refused(transport().stream("stream", new AbortController().signal).next())).toMatchObject({ code: "not_json" });
});

test("no answer is Unreachable", async () => {
  const gone = await TestServer.start();
  const address = { baseUrl: gone.baseUrl };
  await gone.stop();
  await expect(new HttpTransport(address).request("GET", "models")).rejects.toBeInstanceOf(Unreachable);
});

test("a stream that breaks off is Unreachable, one that ends just ends", async () => {
  const frames = transport().stream("stream", new AbortController().signal);
  expect((await frames.next()).value).toMatchObject({ event: "sync" });
  server.drop();
  await expect(frames.next()).rejects.toBeInstanceOf(Unreachable);

  const again = transport().stream("stream", new AbortController().signal);
  await again.next();
  for (const stream of server.streams) stream.end();
  expect(await again.next()).toEqual({ done: true, value: undefined });
});

test("a stream without a byte for too long is Unreachable; heartbeats keep it", async () => {
  const frames = transport({ silence: 150 }).stream("stream", new AbortController().signal);
  await frames.next();
  const beats = setInterval(() => { server.write(": hb\n\n"); }, 30);
  const began = performance.now();
  const broken = frames.next();
  setTimeout(() => { clearInterval(beats); }, 400);
  await expect(broken).rejects.toBeInstanceOf(Unreachable);
  expect(performance.now() - began).toBeGreaterThan(400);
});

test("an abort is the caller's own reason", async () => {
  const release = server.hold("models");
  const abort = new AbortController();
  const asked = transport().request("GET", "models", undefined, abort.signal);
  abort.abort(new Error("left the page"));
  await expect(asked).rejects.toThrow("left the page");
  release();
});
