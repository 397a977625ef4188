/** The service, verb by verb. The key goes along in a header; a refused one sends the reader back to the door. */
import { key, type Scope } from "./state";
import type { Decision, Hit, Link, Note, Page, Problem, Revision } from "./types";

let denied: () => void = () => undefined;
export function onDenied(what: () => void): void {
  denied = what;
}

type Query = Record<string, string | number | boolean | null | undefined>;

async function call<T>(method: string, path: string, query: Query = {}, body?: unknown): Promise<T> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && !(name === "outcome" && value === "")) search.set(name, String(value));
  const answer = await fetch(`/v1${path}${search.size ? `?${search}` : ""}`, {
    method,
    headers: {
      authorization: `Bearer ${key.get()}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 401) denied();
  if (!answer.ok) {
    const problem = (await answer.json().catch(() => null)) as Problem | null;
    throw new Error(problem?.detail ?? problem?.title ?? `${answer.status} ${answer.statusText}`);
  }
  return (await answer.json()) as T;
}

const who = (scope: Scope) => ({ user_id: scope.user || undefined, agent_id: scope.agent || undefined });

export interface Stats {
  turns: number;
  sessions: number;
  pages: number;
  notes: number;
  links: number;
  tiers: { hot_turns: number; warm_pages: number; distilled_pages: number };
  notes_by_kind: Record<string, number>;
  notes_by_state: Record<string, number>;
  decisions: Record<string, number>;
  advice: string[];
}

export interface OwnerLine {
  user: string | null;
  agent: string | null;
  turns: number;
  notes: number;
}

export interface SessionLine {
  session: string;
  agent: string | null;
  turns: number;
  hot: number;
  state: "open" | "ended";
  started_at: string;
  last_at: string;
}

export interface TurnLine {
  id: string;
  position: number;
  role: string;
  speaker: string | null;
  text: string;
  at: string;
  trust: string;
  tier: "hot" | "page" | "transcript";
  page: number | null;
}

export interface HeatCurve {
  page: string;
  points: { tick: number; at: string; heat: number; recalled: boolean }[];
}

export interface CostLine {
  group: string[];
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  seconds: number;
  money: number | null;
}

export interface JobLine {
  kind: string;
  state: "queued" | "failed";
  user: string | null;
  attempts: number;
  run_after: string;
  error: string | null;
}

/** How much work waits. */
export interface Waiting {
  queued: number;
  failed: number;
  by_kind: Record<string, number>;
}

/** Call `told` with what waits now and whenever that changes, until the signal ends it or the service goes. */
async function watchJobs(scope: Scope, signal: AbortSignal, told: (now: Waiting) => void): Promise<void> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(who(scope))) if (value) search.set(name, value);
  const answer = await fetch(`/v1/jobs/events?${search}`, { headers: { authorization: `Bearer ${key.get()}` }, signal });
  if (!answer.ok || !answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = /^event: jobs\ndata: (.*)$/m.exec(event)?.[1];
      if (data) told(JSON.parse(data) as Waiting);
    }
  }
}

export interface GraphAnswer {
  notes: Pick<Note, "id" | "content" | "kind" | "state" | "tags" | "recorded_at" | "weight">[];
  links: Pick<Link, "source" | "target" | "type" | "score">[];
  more: number;
}

const in_path = encodeURIComponent;
const HEATS = 50; // pages whose heat is drawn

export const api = {
  whoami: () => call<{ tenant: string; rights: string[] }>("GET", "/whoami"),
  owners: () => call<{ owners: OwnerLine[] }>("GET", "/owners", { limit: 200 }),
  stats: (scope: Scope) => call<Stats>("GET", "/stats", who(scope)),
  recall: (scope: Scope, query: string) => call<{ hits: Hit[] }>("POST", "/recall", {}, { ...who(scope), query, touch: false }),
  graph: (scope: Scope, include_superseded: boolean) => call<GraphAnswer>("GET", "/graph", { ...who(scope), include_superseded }),
  note: (scope: Scope, id: string) => call<Note>("GET", `/notes/${in_path(id)}`, who(scope)),
  history: (scope: Scope, id: string) => call<Revision[]>("GET", `/notes/${in_path(id)}/history`, who(scope)),
  explain: (scope: Scope, id: string) =>
    call<{ sentence: string; decision: Decision }>("GET", `/explain/${in_path(id)}`, who(scope)),
  pin: (scope: Scope, id: string, pinned: boolean) => call("PUT", `/notes/${in_path(id)}/pin`, {}, { ...who(scope), pinned }),
  forget: (scope: Scope, note_id: string) => call("POST", "/forget", {}, { ...who(scope), note_id }),
  restore: (scope: Scope, id: string) => call("POST", `/notes/${in_path(id)}/restore`, {}, who(scope)),
  review: (scope: Scope, limit: number) => call<Decision[]>("GET", "/decisions/review", { ...who(scope), limit }),
  decisions: (scope: Scope, outcome: string, cursor: string | null) =>
    call<{ decisions: Decision[]; judged: Record<string, boolean>; cursor: string | null }>("GET", "/decisions", {
      ...who(scope), outcome, cursor, limit: 30,
    }),
  feedback: (scope: Scope, id: string, accept: boolean) =>
    call("POST", `/decisions/${in_path(id)}/feedback`, {}, { ...who(scope), accept }),
  sessions: (scope: Scope, cursor: string | null) =>
    call<{ sessions: SessionLine[]; cursor: string | null }>("GET", "/sessions", { ...who(scope), cursor }),
  turns: (scope: Scope, session_id: string, cursor: string | null) =>
    call<{ turns: TurnLine[]; cursor: string | null }>("GET", "/turns", { ...who(scope), session_id, cursor }),
  pages: (scope: Scope, session_id: string | null, cursor: string | null) =>
    call<{ pages: Page[]; cursor: string | null }>("GET", "/pages", { ...who(scope), session_id, cursor, limit: 100 }),
  heat: (scope: Scope) => call<HeatCurve[]>("GET", "/heat", { ...who(scope), limit: HEATS }),
  cost: (scope: Scope, by: string) => call<{ lines: CostLine[]; total: CostLine }>("GET", "/cost", { ...who(scope), by }),
  jobs: (scope: Scope) => call<JobLine[]>("GET", "/jobs", who(scope)),
  watchJobs,
  retryFailed: () => call("POST", "/jobs/retry", {}, {}),
  erase: (scope: Scope) => call<{ counts: Record<string, number>; complete: boolean }>("POST", "/erase", {}, who(scope)),
};
