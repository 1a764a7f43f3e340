import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import type { Enqueuer } from '../sources.ts'

/** The part of an informer that sources use: the objects of its store, and its listeners. The test sends the events. */
export class ScriptedInformer<T extends Cached> {
  readonly listeners = new Set<(event: InformerEvent<T>) => void>()
  readonly store: Pick<Informer<T>['store'], 'values'>

  constructor(...stored: readonly T[]) {
    this.store = { values: () => stored.values() }
  }

  subscribe(listener: (event: InformerEvent<T>) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  emit(event: InformerEvent<T>): void {
    for (const listener of this.listeners) listener(event)
  }

  asInformer<W>(): Informer<T, W> {
    return this as unknown as Informer<T, W>
  }
}

/** A queue for tests of sources. It adds a text about each request to `requests`. No key but `inWork` runs. */
export function recordingQueue(
  requests: string[],
  { inWork }: { readonly inWork?: string | undefined } = {},
): Enqueuer<string> {
  return {
    add: (key, priority = 'normal') => requests.push(`add ${key}${priority === 'retry' ? ' as retry' : ''}`),
    resetBackoff: (key) => requests.push(`reset ${key}`),
    forgetHistory: (key) => requests.push(`forget history of ${key}`),
    wake: ({ kind, name }) => requests.push(['wake', kind, ...(name === undefined ? [] : [name])].join(' ')),
    forget: (key) => requests.push(`forget ${key}`),
    isInWork: (key) => key === inWork,
    keysWaitingFor: () => new Set(),
    onWait: () => () => undefined,
  }
}
