import { number, t } from "../i18n";
import { SIGNALS, type Decision } from "../types";
import { Bar } from "../ui/basics";

/** The five signals of a decision as bars, and its score against the threshold. */
export function Signals({ decision }: { decision: Decision }) {
  const { signals, score, theta } = decision;
  return (
    <div class="signals">
      {signals && SIGNALS.map((name) => <Bar key={name} value={signals[name]} label={t(`signal_${name}`)} />)}
      {score !== null && <Bar value={score} label={`${t("score")} / ${t("threshold")} ${number(theta, 2)}`} mark={theta} />}
      {decision.rule && <p class="muted">{t("rule")}: {decision.rule}</p>}
    </div>
  );
}
