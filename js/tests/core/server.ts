/**
 * A small server of our routes for tests of the core: real HTTP, real streams, under a base URL with escaped characters.
 *
 * It answers from what the test puts into it, writes down what it was asked, and can hold an answer back until the test lets it go.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { MessageView, RunEvent, SessionView, SyncBody } from "../../src/protocol/types";

export const PREFIX = "/user/ann%40b/x%20y/";
const API = `${PREFIX}hermes/api/chat/`;

export interface Asked { method: string; path: string; headers: IncomingMessage["headers"]; body: unknown }
type Answer = { status: number; body: unknown; type?: string } | undefined;

export class TestServer {
  readonly asked: Asked[] = [];
  readonly logs = new Map<string, RunEvent[]>();
  readonly sessions = new Map<string, SessionView>();
  /** Answers by `METHOD path`, before everything else. */
  readonly answers = new Map<string, (asked: Asked) => Answer>();
  /** The `sync` of the next stream; `null` keeps it back until `sync()`. */
  syncBody: SyncBody | null = { runs: [], revisions: {} };
  readonly streams = new Set<ServerResponse>();
  /** How many requests for one path were answered at the same time, at most. */
  readonly most = new Map<string, number>();
  readonly #now = new Map<string, number>();
  readonly #gates = new Map<string, Promise<void>>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => { void this.#answer(request, response); });
  }

  static async start(): Promise<TestServer> {
    const server = new TestServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${PREFIX}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  count(method: string, path: string): number {
    return this.asked.filter((a) => a.method === method && a.path === path).length;
  }

  /** Holds answers to `path` back until the returned function is called. */
  hold(path: string): () => void {
    let open: () => void = () => undefined;
    this.#gates.set(path, new Promise((resolve) => { open = resolve; }));
    return () => {
      this.#gates.delete(path);
      open();
    };
  }

  /** One event for every open stream. */
  send(event: RunEvent): void {
    this.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  /** An event that is stored and sent. */
  emit(event: RunEvent): void {
    this.logs.set(event.runId, [...(this.logs.get(event.runId) ?? []), event]);
    this.send(event);
  }

  frame(name: string, body: unknown): void {
    this.write(`event: ${name}\ndata: ${JSON.stringify(body)}\n\n`);
  }

  write(text: string): void {
    for (const stream of this.streams) stream.write(text);
  }

  /** Breaks every open stream off. */
  drop(): void {
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? "";
    const path = url.startsWith(API) ? url.slice(API.length) : url;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const asked: Asked = { method: request.method ?? "", path, headers: request.headers, body: text === "" ? undefined : JSON.parse(text) };
    this.asked.push(asked);
    const now = (this.#now.get(path) ?? 0) + 1;
    this.#now.set(path, now);
    this.most.set(path, Math.max(this.most.get(path) ?? 0, now));
    await this.#gates.get(path);
    this.#now.set(path, (this.#now.get(path) ?? 1) - 1);
    const given = this.answers.get(`${asked.method} ${path}`)?.(asked);
    if (given === undefined && path.split("?")[0] === "stream") {
      response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
      response.write(`:${" ".repeat(2048)}\n\n`);
      this.streams.add(response);
      response.on("close", () => this.streams.delete(response));
      if (this.syncBody !== null) response.write(`event: sync\ndata: ${JSON.stringify(this.syncBody)}\n\n`);
      return;
    }
    const { status, body, type } = given ?? this.#stored(path);
    if (status === 204) {
      response.writeHead(204).end();
      return;
    }
    response.writeHead(status, { "Content-Type": type ?? "application/json" }).end(type === undefined ? JSON.stringify(body) : String(body));
  }

  #stored(path: string): { status: number; body: unknown; type?: string } {
    const [, kind, id, rest] = /^(messages|sessions|runs)\/([^/?]+)\/?(.*)$/.exec(path) ?? [];
    const log = this.logs.get(id ?? "");
    if (kind === "messages" && rest === "logs" && log) return { status: 200, body: { events: log, lastSeq: last(log) } };
    if (kind === "runs" && rest === "state" && log) return { status: 200, body: { runId: id, sessionId: "", status: "RUNNING", lastSeq: last(log), text: "", pending: [], error: null } };
    const session = this.sessions.get(id ?? "");
    if (kind === "sessions" && rest === "" && session) return { status: 200, body: session };
    if (path.startsWith("sessions?")) {
      const items = [...this.sessions.values()].map(({ session: s, activeRunId }) => ({ session: s, lastMessagePreview: "", hasActiveRun: activeRunId !== null, waitingForInput: false, activeRunId }));
      return { status: 200, body: { items, total: items.length, hasMore: false } };
    }
    return { status: 404, body: { error: { code: "run_not_found", message: "There is no such run.", details: { id } } } };
  }
}

function last(log: readonly RunEvent[]): number {
  const event = log.at(-1);
  return event === undefined ? 0 : (event.seqEnd ?? event.seq);
}

export function sessionView(id: string, messages: MessageView[] = [], changes: Partial<SessionView> & { revision?: number } = {}): SessionView {
  const { revision = 1, ...rest } = changes;
  return {
    session: {
      id, owner: "ann", hermesSession: `chat-${id}`, title: id, titleByPerson: false, modelId: null, skillFolder: null, status: "ACTIVE", workingDir: null,
      createdAt: 1, updatedAt: 1, lastMessageAt: null, lastSummarizedAt: null, revision,
    },
    messages, hasMore: false, activeRunId: null, ...rest,
  };
}

export function message(session: string, n: number, changes: Partial<MessageView["message"]> = {}, logs: RunEvent[] | null = null): MessageView {
  const id = `${session}.${n}`;
  return {
    message: {
      id, sessionId: session, parentId: n === 1 ? null : `${session}.${n - 1}`, role: n % 2 ? "USER" : "ASSISTANT", status: "SENT", content: "", isActive: true,
      branchOrder: 1, deletedAt: null, runId: null, modelId: null, skillFolder: null, error: null, usage: null, author: null, attachmentIds: [], createdAt: n,
      completedAt: null, ...changes,
    },
    logs: logs as MessageView["logs"], version: 1, versions: 1,
  };
}
