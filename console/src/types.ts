/** What the service answers: the records of memstrata as JSON, times as ISO strings. */

export type Kind =
  | "identity" | "preference" | "relation" | "event" | "plan" | "fact" | "procedure" | "state" | "ephemeral";
export const KINDS: Kind[] = [
  "identity", "preference", "relation", "event", "plan", "fact", "procedure", "state", "ephemeral",
];
export const SIGNALS = ["utility", "confidence", "novelty", "recency", "type_prior"] as const;
export type Signal = (typeof SIGNALS)[number];
export type NoteState = "current" | "superseded" | "forgotten" | "removed" | "undone";

export interface Evidence {
  id: string;
  session: string;
  position: number;
  at: string;
  role: string;
  speaker: string | null;
  text: string;
}

export interface Link {
  source: string;
  target: string;
  type: string;
  score: number;
  reason: string;
}

export interface Note {
  id: string;
  content: string;
  context: string;
  kind: Kind;
  keywords: string[];
  tags: string[];
  names: string[];
  speaker: string | null;
  session: string | null;
  event: { start: string; end: string; precision: string } | null;
  said_at: string;
  valid_from: string;
  valid_to: string | null;
  recorded_at: string;
  last_access: string;
  pinned: boolean;
  state: NoteState;
  revision: number;
  trust: string;
  superseded_by: string | null;
  decision: string | null;
  links: Link[];
  evidence: Evidence[];
  weight: number;
  forgets_at: string | null;
}

export interface Revision {
  operation: string;
  verb: string;
  at: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

export interface Decision {
  id: string;
  outcome: string;
  candidate: { text: string; speaker: string | null; kind: Kind; said_at: string };
  signals: Record<Signal, number> | null;
  weights: number[];
  theta: number;
  score: number | null;
  rule: string | null;
  reason: string;
  nearest: string | null;
  nearest_similarity: number | null;
  note: string | null;
  policy: string;
  decided_at: string;
}

export interface Leg {
  name: string;
  score: number;
  rank: number;
}

export interface Hit {
  id: string;
  kind: "note" | "page" | "turn";
  text: string;
  score: number;
  legs: Leg[];
  path: string[];
  evidence: Evidence[];
  at: string;
  note: Note | null;
  reason: string;
}

export interface Page {
  id: string;
  no: number;
  session: string;
  first: number;
  last: number;
  summary: string;
  heat: number;
  recalls: number;
  state: "new" | "warm" | "distilled";
  promoted: boolean;
  started_at: string;
  ended_at: string;
}

export interface Problem {
  title: string;
  detail: string;
  status: number;
}
