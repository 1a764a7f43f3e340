import type { CachedEvent } from './api-event.ts'

/** The last warning about each pod that does not run yet, by its reason. */
export class Warnings {
  readonly #ofPods = new Map<string, Map<string, string>>()

  take({ kind, about, isWarning, reason, message }: CachedEvent): void {
    if (kind !== 'Pod' || !isWarning) return
    const warnings = this.#ofPods.get(about) ?? new Map<string, string>()
    warnings.set(reason, message)
    this.#ofPods.set(about, warnings)
  }

  of(pod: string, reasons: readonly string[]): string | undefined {
    const warnings = this.#ofPods.get(pod)
    return reasons.map((reason) => warnings?.get(reason)).find((message) => message !== undefined)
  }

  forget(pod: string): void {
    this.#ofPods.delete(pod)
  }
}
