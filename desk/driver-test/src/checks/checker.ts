import { CODES } from '@csi-sidecars/csi'
import { codeNameOf, type ProxiedCall } from '@csi-sidecars/disturb'
import { wrongAnswer } from './answers.ts'
import type { CheckName, Violation } from './checks.ts'
import { onNode, RETRYABLE_CODES, Repetitions } from './repetition.ts'
import { Targets } from './targets.ts'
import { changedId, createdId, Tracker, text } from './tracker.ts'

/** A broken promise of the driver, with the calls that led to it, for the reports. */
export interface Finding extends Violation {
  readonly calls: readonly string[]
  /** The calls about the volume, one line each. */
  readonly timeline: readonly string[]
  /** How often the same promise was broken in the same way, for any volume. */
  occurrences: number
}

/** The options of a checker. They decide only how reports print times and paths. */
export interface CheckerOptions {
  /** The start of the run in monotonic milliseconds. The time of each call in a report is relative to it. */
  readonly startedAt: number
  /** Shortens a path for the report. */
  readonly shortened: (path: string) => string
}

/** The checks of the controller service. Their findings list no calls to node services. */
const OF_CONTROLLER: ReadonlySet<CheckName> = new Set([
  'oneVolume',
  'context',
  'capacity',
  'reach',
  'content',
  'kept',
  'ended',
  'oneNode',
  'inUse',
])

/** The limits for the calls that are kept, shown in a finding, and shown in the time line of a finding. */
const KEPT = 5_000
const LISTED = 10
const ON_TIMELINE = 100

/** Checks a driver by the calls through the proxy. */
export class Checker {
  readonly tracker = new Tracker()
  readonly snapshots = new Tracker('Snapshot')
  readonly findings: Finding[] = []
  readonly #repetitions = new Repetitions()
  readonly #ended: ProxiedCall[] = []
  readonly #targets = new Targets()
  readonly #options: CheckerOptions
  /** The number of ended calls of each method. */
  readonly callsOf = new Map<string, number>()

  constructor(options: CheckerOptions) {
    this.#options = options
  }

  get calls(): number {
    return [...this.callsOf.values()].reduce((sum, each) => sum + each, 0)
  }

  see(call: ProxiedCall): void {
    this.tracker.see(call)
    this.snapshots.see(call)
    if (call.end !== undefined) {
      this.callsOf.set(call.method, (this.callsOf.get(call.method) ?? 0) + 1)
      this.#ended.push(call)
      if (this.#ended.length > KEPT) this.#ended.shift()
    }
    const ofAnswer = wrongAnswer(call, this.tracker)
    for (const broken of [...this.#repetitions.see(call), ...ofAnswer, ...this.#targets.see(call)]) this.report(broken)
  }

  /** Records a violation. If an earlier finding has the same cause, only the count of that finding increases. */
  report(broken: Violation): void {
    const earlier = this.findings.find((each) => causeOf(each) === causeOf(broken))
    if (earlier !== undefined) {
      earlier.occurrences += 1
      return
    }
    const related = broken.subjectId === undefined ? [] : this.#callsAbout(broken.subjectId).slice(-ON_TIMELINE)
    const timeline = related.map((call) => lineOf(call, this.#options))
    this.findings.push({ ...broken, calls: this.#callsBefore(broken), timeline, occurrences: 1 })
  }

  /** Records that a requested object is missing or was not deleted, with the last failed call as the cause. */
  findUnfulfilled(unfulfilled: Violation, trouble: string | undefined): void {
    const { subjectId, check, text: missing } = unfulfilled
    const call = check === 'noLeak' && subjectId === undefined ? undefined : this.#lastRefused(subjectId)
    if (call === undefined) return this.report({ ...unfulfilled, text: joined(missing, trouble) })
    const { method, code = 0, message } = call
    const refusal = `${method}: ${codeNameOf(code)} ${JSON.stringify(message)}`
    const causeKey = `${method} ${codeNameOf(code)}`
    const earlier = subjectId === undefined || RETRYABLE_CODES.has(code) ? undefined : this.#repetitions.earlier(call)
    if (earlier !== undefined) {
      const subject = changedId(call) || text(call.request['name'])
      const repeated = `${method} of ${subject}${onNode(call)} ${earlier}, and failed when it was repeated`
      return this.report({
        check: 'idempotence',
        subjectId,
        text: joined(repeated, refusal, missing),
        causeKey: method,
      })
    }
    if (code === CODES.NotFound && this.tracker.get(text(call.request['volumeId']))?.exists === 'yes') {
      return this.report({
        check: 'kept',
        subjectId,
        text: joined(`volume ${subjectId} was created`, refusal, missing),
        causeKey,
      })
    }
    this.report({ ...unfulfilled, text: joined(missing, refusal, trouble), causeKey })
  }

  /** Returns the last failed call about the volume that has not succeeded since. */
  #lastRefused(subjectId: string | undefined): ProxiedCall | undefined {
    const calls = this.#callsAbout(subjectId)
    return calls.findLast((call, at) => {
      const { method, code = 0 } = call
      if (code === 0) return false
      return !calls.slice(at).some((each) => each.method === method && each.code === 0 && sameTarget(each, call))
    })
  }

  #callsBefore({ subjectId, check }: Violation): readonly string[] {
    // No recorded call explains a wrong list, because the checks call ListVolumes without the proxy.
    if (check === 'listed') return []
    // A finding of the check `strict` concerns only one direct request, which is the last call.
    if (check === 'strict') return this.#ended.slice(-1).map((call) => lineOf(call, this.#options))
    const ofNodes = !OF_CONTROLLER.has(check) || this.tracker.get(subjectId ?? '')?.inline === true
    const all = this.#callsAbout(subjectId)
    const staged = check === 'kept' && all.at(-1)?.method === 'NodePublishVolume'
    const possible = all.filter(({ method }) => ofNodes || staged || !method.startsWith('Node'))
    // If no answer names the volume or snapshot, a creation without an answer may have created it.
    const suspects = this.#ended.filter(({ method, code }) => method.startsWith('Create') && code === undefined)
    return inRows(possible.length > 0 ? possible : suspects)
      .slice(-LISTED)
      .map(({ call, times }) => `${lineOf(call, this.#options)}${times > 1 ? `, ${times} times` : ''}`)
  }

  /** Returns the calls about a volume or a snapshot, by its ID or by its requested name. */
  #callsAbout(subjectId: string | undefined): readonly ProxiedCall[] {
    if (subjectId === undefined) return this.#ended
    const volumes = [...this.tracker.volumes, ...this.snapshots.volumes].filter(({ id, name }) =>
      [id, name].includes(subjectId),
    )
    const ids = new Set(volumes.map(({ id }) => id))
    const names = new Set([subjectId, ...volumes.map(({ name }) => name)].filter((name) => name !== ''))
    return this.#ended.filter(
      (call) => ids.has(changedId(call)) || names.has(text(call.request['name'])) || ids.has(createdId(call)),
    )
  }
}

/** Returns a text that is equal for violations that differ in names and numbers only. */
export function causeOf({ check, text: found, causeKey }: Violation): string {
  if (causeKey !== undefined) return `${check} ${causeKey}`
  return `${check} ${withoutNames(found)}`
}

/** Replaces each name and number by an asterisk. */
export function withoutNames(found: string): string {
  return found
    .replaceAll(/"[^"]*"/g, '*')
    .replaceAll(/\b(at|of|on|to) \S+/g, '$1 *')
    .replaceAll(/\S*\d\S*/g, '*')
}

function joined(...texts: readonly (string | undefined)[]): string {
  return texts.filter((part) => part !== undefined).join('; ')
}

interface Row {
  readonly call: ProxiedCall
  times: number
}

/** Groups calls, so that a call that fails several times in the same way is listed once. */
function inRows(calls: readonly ProxiedCall[]): readonly Row[] {
  const rows: Row[] = []
  for (const call of calls) {
    const last = rows.findLast((row) => row.call.method === call.method && sameTarget(row.call, call))
    if (last !== undefined && call.code !== 0 && last.call.code === call.code && last.call.message === call.message) {
      last.times += 1
    } else {
      rows.push({ call, times: 1 })
    }
  }
  return rows
}

function sameTarget({ request: a }: ProxiedCall, { request: b }: ProxiedCall): boolean {
  return ['name', 'volumeId', 'snapshotId', 'nodeId', 'targetPath', 'stagingTargetPath'].every(
    (field) => text(a[field]) === text(b[field]),
  )
}

/** Returns one line about a call: its start, its objects, its result, its duration and its fault. */
function lineOf(call: ProxiedCall, { startedAt, shortened }: CheckerOptions): string {
  const { method, request, start, end, code, message, fault } = call
  const made = createdId(call)
  const path = shortened(text(request['targetPath']) || text(request['stagingTargetPath']))
  const fields = [
    text(request['name']),
    text(request['sourceVolumeId']),
    changedId(call),
    text(request['nodeId']),
    path,
  ]
  const subject = [method, ...fields.filter((each) => each !== '')].join(' ')
  const how = code === undefined ? 'no answer' : codeNameOf(code)
  const quotedMessage = code === 0 || message === '' ? '' : ` ${JSON.stringify(message)}`
  const took = end === undefined ? '' : `, ${Math.round(end - start)} ms`
  const done = fault === undefined ? '' : ` [${FAULT_WORDS[fault]}]`
  return `+${((start - startedAt) / 1000).toFixed(3)} s ${subject} -> ${how}${made === '' ? '' : ` ${made}`}${quotedMessage}${took}${done}`
}

const FAULT_WORDS: Readonly<Record<NonNullable<ProxiedCall['fault']>, string>> = {
  delay: 'sent late',
  loseAnswer: 'answer lost',
  repeat: 'called twice',
  repeatLate: 'called again later',
  cut: 'connection cut',
  kill: 'driver killed after it',
}
