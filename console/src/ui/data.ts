/** Reading from the service: what is asked last wins, and an error is a state that can be tried again. */
import { useCallback, useEffect, useState } from "preact/hooks";

export interface Data<T> {
  value: T | null;
  error: Error | null;
  loading: boolean;
  again: () => void;
}

export function useData<T>(ask: () => Promise<T>, inputs: readonly unknown[]): Data<T> {
  const [state, setState] = useState<Omit<Data<T>, "again">>({ value: null, error: null, loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let stale = false;
    setState((was) => ({ ...was, error: null, loading: true }));
    ask().then(
      (value) => stale || setState({ value, error: null, loading: false }),
      (error: Error) => stale || setState({ value: null, error, loading: false }),
    );
    return () => {
      stale = true;
    };
  }, [...inputs, turn]);
  return { ...state, again: useCallback(() => setTurn((n) => n + 1), []) };
}

/** A list that comes page by page, by cursor. */
export interface Pages<T> {
  items: T[];
  more: (() => void) | null;
  error: Error | null;
  loading: boolean;
  again: () => void;
}

export function usePages<T>(
  ask: (cursor: string | null) => Promise<{ items: T[]; cursor: string | null }>,
  inputs: readonly unknown[],
): Pages<T> {
  const [items, setItems] = useState<T[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const first = useData(async () => {
    const page = await ask(null);
    setItems(page.items);
    setCursor(page.cursor);
    return page;
  }, inputs);
  const [failure, setFailure] = useState<Error | null>(null);
  const more = async () => {
    try {
      const page = await ask(cursor);
      setItems((was) => [...was, ...page.items]);
      setCursor(page.cursor);
      setFailure(null);
    } catch (error) {
      setFailure(error as Error);
    }
  };
  return {
    items: first.value === null ? [] : items,
    more: cursor === null ? null : () => void more(),
    error: first.error ?? failure,
    loading: first.loading && first.value === null,
    again: first.again,
  };
}
