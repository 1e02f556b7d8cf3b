/**
 * HTTP to our own server: JSON requests and event streams under `{base_url}hermes/api/chat/`.
 *
 * Every failure is one of two errors: `ApiError` where the server said no, `Unreachable` where no answer came or a stream broke.
 * An abort by the caller stays the abort's own reason. Nothing here retries.
 */
import type { ServerSentEvent, Transport } from "./contract";
import { readEvents } from "./stream";

/** The server's refusal: its stable `code`, its sentence that says what to do, its details. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(readonly status: number, readonly code: string, message: string, readonly details: Readonly<Record<string, unknown>> = {}) {
    super(message);
  }
}

/** No answer: the server is down, the network is, or a stream broke off. Trying again may help. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  constructor(cause: unknown) {
    super("The Jupyter server cannot be reached. Check that it is still running.", { cause });
  }
}

export interface HttpAddress {
  /** `baseUrl` of the page's configuration: a path such as `/user/ann%40b/`, or absolute. */
  readonly baseUrl: string;
  /** The page configuration's `token`; empty where cookies authenticate. */
  readonly token?: string;
}

export interface HttpOptions {
  /** The cookies of the page; from `document` where there is one. */
  readonly cookies?: () => string;
  /** A stream without a byte for so long is broken: three heartbeats (15 s). Milliseconds. */
  readonly silence?: number;
}

type Method = Parameters<Transport["request"]>[0];

export class HttpTransport implements Transport {
  readonly #base: URL;
  readonly #api: URL;
  readonly #token: string;
  readonly #cookies: () => string;
  readonly #silence: number;

  constructor(address: HttpAddress, options: HttpOptions = {}) {
    this.#base = baseOf(address);
    this.#api = new URL("hermes/api/chat/", this.#base);
    this.#token = address.token ?? "";
    this.#cookies = options.cookies ?? (() => (typeof document === "undefined" ? "" : document.cookie));
    this.#silence = options.silence ?? 45_000;
  }

  url(path: string): string {
    return new URL(path, this.#base).href;
  }

  async request<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const response = await this.#fetch(method, path, "application/json", body, signal);
    if (response.status === 204) return undefined as T;
    const answer = await json(response, signal);
    if (answer === undefined) throw notJson(response);
    return answer as T;
  }

  async *stream(path: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    const quiet = new AbortController();
    const ends = AbortSignal.any([signal, quiet.signal]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => { quiet.abort(new Unreachable(`nothing was heard for ${this.#silence} ms`)); }, this.#silence);
    };
    heard();
    try {
      const response = await this.#fetch("GET", path, "text/event-stream", undefined, ends);
      if (response.body === null || !type(response).startsWith("text/event-stream")) throw notJson(response);
      yield* readEvents(response.body, heard);
    } catch (error) {
      throw foreign(error, signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #fetch(method: Method, path: string, accept: string, body: unknown, signal: AbortSignal | undefined): Promise<Response> {
    const headers = new Headers({ Accept: accept });
    if (body !== undefined) headers.set("Content-Type", "application/json");
    if (this.#token) headers.set("Authorization", `token ${this.#token}`);
    const xsrf = method === "GET" ? null : xsrfToken(this.#cookies());
    if (xsrf !== null) headers.set("X-XSRFToken", xsrf);
    const init: RequestInit = { method, headers, credentials: "same-origin", cache: "no-store" };
    if (body !== undefined) init.body = JSON.stringify(body);
    if (signal !== undefined) init.signal = signal;
    let response: Response;
    try {
      response = await fetch(new URL(path, this.#api), init);
    } catch (error) {
      throw foreign(error, signal);
    }
    if (!response.ok) throw refusal(response, await json(response, signal));
    return response;
  }
}

/** Absolute, with a slash at its end; what is escaped stays escaped. */
export function baseOf(address: HttpAddress): URL {
  const path = address.baseUrl.endsWith("/") ? address.baseUrl : `${address.baseUrl}/`;
  return new URL(path, typeof location === "undefined" ? undefined : location.href);
}

/** The first `_xsrf` is that of the longest path. Python's `http.cookies` quotes a value with `=` in it. */
export function xsrfToken(cookies: string): string | null {
  const value = /(?:^|;\s*)_xsrf=([^;]*)/.exec(cookies)?.[1]?.trim();
  return value === undefined ? null : value.replace(/^"(.*)"$/, "$1");
}

function type(response: Response): string {
  return response.headers.get("Content-Type")?.toLowerCase() ?? "";
}

/** The body's JSON, `undefined` where it is none. */
async function json(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  try {
    return type(response).startsWith("application/json") ? await response.json() : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw foreign(error, signal);
  }
}

function foreign(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  return error instanceof ApiError || error instanceof Unreachable ? error : new Unreachable(error);
}

/** Our own errors are `{"error": {…}}`; what Jupyter or a proxy says has a message at best. */
function refusal(response: Response, body: unknown): ApiError {
  const own = field(body, "error");
  const code = field(own, "code");
  const said = field(own, "message") ?? field(body, "message");
  const message = typeof said === "string" && said !== "" ? said : sentence(response.status);
  const details = field(own, "details");
  return new ApiError(
    response.status, typeof code === "string" ? code : `http_${response.status}`, message,
    typeof details === "object" && details !== null ? (details as Record<string, unknown>) : {},
  );
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function sentence(status: number): string {
  if (status === 401 || status === 403) return "The Jupyter server refused the request. Reload the page and log in again.";
  if (status === 404) return "The Jupyter server does not know this address. Check that the extension jupyter_hermes_chat is enabled.";
  return `The Jupyter server answered with status ${status}.`;
}

function notJson(response: Response): ApiError {
  return new ApiError(response.status, "not_json", "The Jupyter server answered with a page. Reload and log in again.");
}
