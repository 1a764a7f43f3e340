import type { CSIStorageCapacity, KubeObject } from '@csi-sidecars/kube-types'
import { ApiRefusal } from '../harness/api/api.ts'
import type { WireRequest } from '../harness/api/wire.ts'
import type { Observers, TestContext } from '../harness/context.ts'
import { type Call, codeName } from '../harness/driver/driver.ts'
import type { Answer } from '../harness/driver/messages.ts'
import { hasChange, mergePatchOf, plainText, withoutTimes } from './change.ts'

const MAX_LINE = 1_400

/** Calls that a sidecar repeats without work, and which therefore have no line. */
const PERIODIC = ['ListVolumes']

/** A part of the name of each object that only shows that earlier work has ended. */
export const LATER_PREFIX = 'later-'

/**
 * What the sidecars of a test do outside their processes, as one line for each write, event and driver call.
 *
 * A line shows the effect of a write as a merge patch, whatever kind of request has caused it. A write that changes nothing
 * but a time, and a write that meets a newer object, have no line. Equal lines of one step are one line, because retries repeat them.
 */
export class Trace {
  readonly observers: Observers
  readonly #context: TestContext
  #lines = new Set<string>()
  /** Names that the API server has generated, each with a name that its content determines. */
  readonly #stableNames = new Map<string, string>()

  constructor(context: TestContext) {
    this.#context = context
    this.observers = {
      call: (call, answer) => {
        if (!PERIODIC.includes(call.method)) this.#add(callText(call, answer))
      },
      writes: {
        read: (write) => this.#read(write),
        answered: (write, before, after) => {
          this.#nameStably(after)
          if (!this.#isOfOtherTest(write)) this.#add(writeText(write, before, after))
        },
      },
    }
  }

  /** The lines since the last `take`. Events come last, because a sidecar sends them beside its other work. */
  get lines(): readonly string[] {
    const all = [...this.#lines]
    const isEvent = (line: string): boolean => line.startsWith('event ')
    return [...all.filter((line) => !isEvent(line)), ...all.filter(isEvent).sort()]
  }

  /** Returns the lines since the last call. */
  takeLines(): readonly string[] {
    const { lines } = this
    this.#lines = new Set()
    return lines
  }

  #add(line: string | undefined): void {
    if (line !== undefined && !line.includes(LATER_PREFIX)) this.#lines.add(this.#withoutIds(line))
  }

  /** Lets later lines name a CSIStorageCapacity by its class and topology instead of its random name. */
  #nameStably(object: object | undefined): void {
    const { kind, metadata, storageClassName, nodeTopology } = (object ?? {}) as KubeObject &
      Partial<CSIStorageCapacity>
    if (kind !== 'CSIStorageCapacity' || metadata?.generateName === undefined) return
    const topology = Object.values(nodeTopology?.matchLabels ?? {})
    this.#stableNames.set(`${metadata.name}`, ['csisc', storageClassName, ...topology].join('-'))
  }

  /** Reports whether a write concerns an object of another test: all tests share one API server. */
  #isOfOtherTest({ name = '' }: WireRequest): boolean {
    return /^s\d+-/.test(name) && !name.startsWith(`${this.#context.id}-`)
  }

  /** Replaces all names that differ from run to run. */
  #withoutIds(line: string): string {
    const { id, driverName } = this.#context
    let named = line.replaceAll('\n', '\\n')
    for (const [name, stableName] of this.#stableNames) named = named.replaceAll(name, stableName)
    const text = withoutTimes(named)
      .replaceAll(driverName, 'DRIVER')
      .replaceAll(driverName.replaceAll('.', '-'), 'DRIVER')
      .replaceAll(`${id}-`, '')
      .replaceAll(/\b\d{13}-\d{1,4}-/g, 'IDENTITY-')
      // Driver and sidecar end a call at its deadline at the same time, so either of their texts may arrive.
      .replaceAll('desc = Deadline exceeded', 'desc = context deadline exceeded')
      .replaceAll(/"resourceVersion":"\d+"/g, '"resourceVersion":"VERSION"')
      .replaceAll(/\b(?!00000000-)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID')
    return text.length <= MAX_LINE ? text : `${text.slice(0, MAX_LINE)} (${text.length} characters)`
  }

  async #read({ method, path, resource }: WireRequest): Promise<object | undefined> {
    if (method === 'POST') return undefined
    const [, subresource] = resource.split('/')
    const object = subresource === undefined ? path : path.slice(0, -(subresource.length + 1))
    try {
      return await this.#context.api.call<object>('GET', object)
    } catch (error) {
      if (error instanceof ApiRefusal && error.code === 404) return undefined
      throw error
    }
  }
}

/** Codes of the API server that say that the object has changed since the sidecar read it. */
const OUTDATED = [404, 409, 422]

/** An update may be a PUT or a PATCH. */
const VERBS: Readonly<Record<string, string>> = { PUT: 'update', PATCH: 'update', POST: 'create', DELETE: 'delete' }

function writeText(write: WireRequest, before: object | undefined, after: object | undefined): string | undefined {
  const { method, resource, name = '', code } = write
  const isEvent = resource.split('/')[0] === 'events'
  // Not every role grants events.
  if (isEvent && code >= 400) return undefined
  const refusal = `${VERBS[method] ?? method} ${resource} ${name} -> ${code}`
  if (after === undefined) return refusal
  if (code >= 400) return OUTDATED.includes(code) ? undefined : refusal
  const object: KubeObject = after
  if (isEvent) return eventText(after)
  if (method === 'DELETE') return `delete ${(before as KubeObject | undefined)?.kind} ${name}`
  const change = mergePatchOf(before ?? {}, after)
  if (method === 'POST') return `create ${object.kind} ${object.metadata?.name} ${plainText(change)}`
  return hasChange(change) ? `${object.kind} ${name} ${plainText(change)}` : undefined
}

function eventText(event: object): string {
  const { type, reason, involvedObject, regarding, message, note } = event as Record<string, unknown>
  const { kind, name } = (involvedObject ?? regarding) as { kind: string; name: string }
  return `event ${type} ${reason} ${kind} ${name}: ${message ?? note}`
}

function callText({ method, request }: Call, answer: Answer | 'hang'): string {
  const call = `${method} ${plainText(request)}`
  if (answer === 'hang') return `${call} -> no answer`
  if ('emulated' in answer) return `${call} -> the answer of the emulated driver`
  return 'reply' in answer ? `${call} -> OK` : `${call} -> ${codeName(answer.code)}: ${answer.message}`
}
