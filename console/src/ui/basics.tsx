/** The small pieces that every view is made of. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { number, t } from "../i18n";

export function Bar({ value, label, mark }: { value: number; label: string; mark?: number }) {
  const width = `${Math.round(Math.max(0, Math.min(1, value)) * 100)}%`;
  return (
    <div class="bar" role="img" aria-label={`${label} ${number(value, 2)}`}>
      <span class="bar-label">{label}</span>
      <span class="bar-track">
        <span class="bar-fill" style={{ width }} />
        {mark !== undefined && <span class="bar-mark" style={{ left: `${mark * 100}%` }} />}
      </span>
      <span class="bar-value">{number(value, 2)}</span>
    </div>
  );
}

export function Badge({ tone = "plain", children }: { tone?: string; children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

export function Card({ title, children, actions }: { title?: string; children: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <section class="card">
      {(title || actions) && (
        <header>
          {title && <h2>{title}</h2>}
          {actions && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

export function Empty({ text = t("nothing") }: { text?: string }) {
  return <p class="empty">{text}</p>;
}

export function Failure({ error, again }: { error: Error; again?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{error.message}</p>
      {again && (
        <button type="button" onClick={again}>
          {t("retry")}
        </button>
      )}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      {t("loading")}
    </p>
  );
}

/** A table whose cells a screen reader can name; it scrolls by itself on a narrow screen. */
export function Table({ caption, head, rows }: { caption: string; head: string[]; rows: ComponentChildren[][] }) {
  if (rows.length === 0) return <Empty />;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {head.map((cell) => (
              <th scope="col">{cell}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The browser's own dialog: it keeps the focus inside and gives it back when it closes. */
export function Dialog({ title, onClose, children, wide }: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog ref={ref} class={wide ? "drawer" : ""} aria-labelledby="dialog-title" onClose={onClose}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button type="button" class="quiet" onClick={() => ref.current?.close()}>
          {t("close")}
        </button>
      </header>
      {children}
    </dialog>
  );
}
