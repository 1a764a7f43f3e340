import { type ObjectMeta, type Resource, SECRETS } from '@csi-sidecars/kube-types'
import type { Ref } from '../harness/api/api.ts'
import { secret } from '../harness/api/objects.ts'
import type { Fault, WireRequest } from '../harness/api/wire.ts'
import type { TestContext } from '../harness/context.ts'
import type { Call, DriverReply, FakeDriver, Script } from '../harness/driver/driver.ts'
import { eventually } from '../harness/waiting.ts'
import type { Action } from './row.ts'
import { LATER_PREFIX } from './trace.ts'

/** A value of a row. A function makes it from the names of the test. */
export type Of<T> = T | ((t: TestContext) => T)

export function made<T extends object | undefined>(t: TestContext, value: Of<T>): T {
  return typeof value === 'function' ? value(t) : value
}

/** The answers of the driver to the first call, the second call and so on of each RPC. The last one repeats. */
export type Answers = Readonly<Record<string, readonly AnswerOf[]>>

/** An answer of the driver, or a function that makes it of the call. */
type AnswerOf = DriverReply | ((call: Call) => DriverReply)

/** An answer of the driver with this error. */
export function failure(code: number, message = 'no'): DriverReply {
  return { code, message }
}

export const OK: DriverReply = { reply: {} }

/** Makes the driver give these answers. `usual` has the answers for later work and for other RPCs. */
export function answer(driver: FakeDriver, answers: Answers = {}, usual: Answers = {}): void {
  for (const [method, replies] of Object.entries({ ...usual, ...answers })) {
    driver.on(method, scriptOf(replies, usual[method]?.[0] ?? OK))
  }
}

function scriptOf(replies: readonly AnswerOf[], laterAnswer: AnswerOf): Script {
  let nth = -1
  const next = (): AnswerOf => {
    nth += 1
    return replies[Math.min(nth, replies.length - 1)] ?? OK
  }
  return (call) => {
    const reply = JSON.stringify(call.request).includes(LATER_PREFIX) ? laterAnswer : next()
    return typeof reply === 'function' ? reply(call) : reply
  }
}

type Described = Resource<{ readonly metadata?: ObjectMeta | undefined }>

function refOf(t: TestContext, { namespaced }: Resource<unknown>, suffix: string): Ref {
  return { name: t.name(suffix), ...(namespaced && { namespace: t.namespace }) }
}

/** Deletes an object, and waits until the sidecar knows. */
export function deleted(resource: Described, suffix: string): Action<unknown> {
  return {
    name: `delete ${resource.kind} ${suffix}`,
    run: async (t) => {
      const ref = refOf(t, resource, suffix)
      const { metadata } = await t.api.get(resource, ref)
      await t.api.delete(resource, ref)
      await t.knows(resource, metadata, await t.api.find(resource, ref))
    },
  }
}

/** Deletes an object and removes all its finalizers, as a person does by hand. */
export function withoutFinalizers(resource: Described, suffix: string): Action<unknown> {
  const ref = (t: TestContext): Ref => refOf(t, resource, suffix)
  return {
    name: `delete ${resource.kind} ${suffix} and its finalizers`,
    run: (t) => t.remove(resource, ref(t), () => t.strip(resource, ref(t))),
  }
}

/** Merges these fields into an object, and waits until the sidecar knows. */
export function merged(resource: Described, suffix: string, body: Of<object>): Action<unknown> {
  return {
    name: `change ${resource.kind} ${suffix}`,
    run: async (t) => t.received(resource, await t.api.merge(resource, refOf(t, resource, suffix), made(t, body))),
  }
}

/** Merges these fields into the status of an object. */
export function reported(resource: Described, suffix: string, status: Of<object>): Action<unknown> {
  return {
    name: `change the status of ${resource.kind} ${suffix}`,
    run: async (t) => {
      const ref = { ...refOf(t, resource, suffix), subresource: 'status' }
      await t.received(resource, await t.api.merge(resource, ref, { status: made(t, status) }))
    },
  }
}

export function secretCreated(data: Readonly<Record<string, string | Buffer>>, suffix = 'secret'): Action<unknown> {
  return { name: `create Secret ${suffix}`, run: (t) => t.create(SECRETS, secret(t.namespace, t.name(suffix), data)) }
}

/** Makes the driver answer otherwise from now on. */
export function answering(answers: Of<Answers>): Action<{ readonly driver: FakeDriver }> {
  return { name: `the driver changes its answers`, run: async (t, { driver }) => answer(driver, made(t, answers)) }
}

interface Refusing {
  readonly times?: number
  /** The number of requests before the first refused one. */
  readonly after?: number
  /** A text that the body of the request contains. */
  readonly containing?: string
}

/** Makes the API server refuse requests of this kind, such as `PATCH persistentvolumes`. A GET is the read of one object. */
export function refusing(
  kind: `${string} ${string}`,
  fault: Fault | ((t: TestContext) => Fault),
  { containing = '', after = 0, ...options }: Refusing = {},
): Action<unknown> {
  return {
    name: `refuse ${kind}`,
    run: async (t) => {
      const { gate } = sidecarOf(t)
      let passed = 0
      const where = ({ bytes, name = '', watch }: WireRequest): boolean => {
        if (!bytes.includes(containing) || name.includes(LATER_PREFIX)) return false
        if (kind.startsWith('GET ') && (watch || name === '')) return false
        passed += 1
        return passed > after
      }
      gate.inject(kind, typeof fault === 'function' ? () => fault(t) : fault, { ...options, where })
    },
  }
}

function sidecarOf({ sidecars }: TestContext): TestContext['sidecars'][number] {
  const sidecar = sidecars.at(-1)
  if (sidecar === undefined) throw new Error('no sidecar runs')
  return sidecar
}

/** Refuses requests of this kind while the actions run. */
export function whileRefusing<At>(
  kind: `${string} ${string}`,
  fault: Fault,
  ...actions: readonly Action<At>[]
): Action<At> {
  const all = together('', ...actions)
  return {
    name: `refuse ${kind}: ${actions.map(({ name }) => name).join(', ')}`,
    run: async (t, at) => {
      const refused = sidecarOf(t).gate.inject(kind, fault)
      await all.run(t, at)
      refused.end()
    },
  }
}

interface Interference {
  /** The request before which another client changes an object, such as `PATCH volumeattachments`. */
  readonly kind: `${string} ${string}`
  readonly change: (t: TestContext) => Promise<unknown>
  /** Reports whether the later requests show that the sidecar has noticed the change. */
  readonly isNoticed: (later: readonly WireRequest[]) => boolean
}

/**
 * Lets another client change an object right before a request of the sidecar. The watch delivers the change only after
 * the sidecar has noticed it by itself.
 */
export function whileInterfering<At>(
  { kind, change, isNoticed }: Interference,
  ...actions: readonly Action<At>[]
): Action<At> {
  const all = together('', ...actions)
  const [, resource = ''] = kind.split(' ')
  return {
    name: `another client changes an object before ${kind}: ${actions.map(({ name }) => name).join(', ')}`,
    run: async (t, at) => {
      const { gate } = sidecarOf(t)
      let first = Number.POSITIVE_INFINITY
      let deliver: (() => void) | undefined
      const changing = (): Fault => {
        first = gate.requests.length
        deliver = gate.holdWatches(resource)
        return { kind: 'wait', for: change(t) }
      }
      gate.inject(kind, changing, { times: 1 })
      await all.run(t, at)
      await eventually('a request that shows the change', () => isNoticed(gate.requests.slice(first)))
      deliver?.()
    },
  }
}

/** Waits until the sidecar has sent a request, such as `POST persistentvolumes`, and perhaps until it has its effect. */
export function requested(kind: `${string} ${string}`, { after = 0, effective = false } = {}): Action<unknown> {
  const [method, resource = ''] = kind.split(' ')
  const isOne = ({ method: each, name, watch }: WireRequest): boolean =>
    each === method && !watch && (method !== 'GET' || name !== undefined)
  return {
    name: `${kind} arrives`,
    run: (t) => {
      const { gate } = sidecarOf(t)
      return eventually(kind, () => {
        const request = gate.requestsOf(resource).filter(isOne)[after]
        return request !== undefined && (!effective || request.code !== 0)
      })
    },
  }
}

/** Several actions, one after the other, under one name. */
export function together<At>(name: string, ...actions: readonly Action<At>[]): Action<At> {
  return {
    name,
    run: async (t, at) => {
      for (const { run } of actions) await run(t, at)
    },
  }
}

export const killed: Action<unknown> = { name: 'kill the sidecar', run: (t) => sidecarOf(t).endBy('SIGKILL') }

/** Waits for what the sidecar does by itself. */
export const waiting: Action<unknown> = { name: 'wait', run: () => Promise.resolve() }

/** Waits until the driver has received a call. */
export function called(method: string): Action<{ readonly driver: FakeDriver }> {
  return {
    name: `${method} runs`,
    run: (_, { driver }) => eventually(`a call of ${method}`, () => driver.callsOf(method).length > 0, { every: 5 }),
  }
}
