import { date } from "../i18n";
import type { Evidence } from "../types";

/** A turn that something stands on: its words, who said them, where and when. */
export function Quote({ said }: { said: Evidence }) {
  return (
    <blockquote>
      {said.text}
      <p class="by">{[said.speaker ?? said.role, said.session, `#${said.position}`, date(said.at, true)].filter(Boolean).join(" · ")}</p>
    </blockquote>
  );
}
