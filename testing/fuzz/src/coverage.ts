import { type Profiler, Session } from 'node:inspector'

/** Ours, and the library that kubeconfigs are read with. */
const WANTED = /\/(?:libs\/(?!fuzz\/)|node_modules\/js-yaml\/)/

/** What of the code has run, by V8's own count of its blocks. */
export class Coverage implements Disposable {
  readonly #session = new Session()
  /** Of each function the characters that have run. */
  readonly #seen = new Map<string, Uint8Array>()
  /** Characters of code that have run. */
  size = 0

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    this.take()
  }

  /** Whether code has run since the last call that had never run before. It is not remembered as run. */
  isNew(): boolean {
    return this.#count(false) > 0
  }

  /** How many characters have run since the last call that had never run before. */
  take(): number {
    const added = this.#count(true)
    this.size += added
    return added
  }

  [Symbol.dispose](): void {
    this.#session.disconnect()
  }

  #count(keeps: boolean): number {
    let added = 0
    // The inspector answers a session of its own thread before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error
      for (const { scriptId, url, functions } of taken.result) {
        if (!WANTED.test(url)) continue
        for (const each of functions) added += this.#countOf(scriptId, each, keeps)
      }
    })
    return added
  }

  #countOf(scriptId: string, { ranges }: Profiler.FunctionCoverage, keeps: boolean): number {
    const [whole] = ranges
    if (whole === undefined || whole.count === 0) return 0
    const ran = charactersOf(ranges, whole)
    const key = `${scriptId}:${whole.startOffset}`
    const seen = this.#seen.get(key) ?? new Uint8Array(ran.length)
    if (keeps) this.#seen.set(key, seen)
    let added = 0
    for (let at = 0; at < ran.length; at += 1) {
      if (ran[at] !== 1 || seen[at] === 1) continue
      if (keeps) seen[at] = 1
      added += 1
    }
    return added
  }
}

/** Ranges lie within each other, the outer ones first; what is not counted by itself has the count around it. */
function charactersOf(ranges: readonly Profiler.CoverageRange[], whole: Profiler.CoverageRange): Uint8Array {
  const from = whole.startOffset
  const ran = new Uint8Array(whole.endOffset - from)
  for (const { startOffset, endOffset, count } of ranges) {
    ran.fill(count > 0 ? 1 : 0, startOffset - from, endOffset - from)
  }
  return ran
}
