import type { ServerResponse } from 'node:http'
import { FakeClock } from '@csi-sidecars/base/testing'
import { type ObjectRef, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { OwnedKubeClient } from '../create-client.ts'
import { AnsweringServer, OBJECT, ok, patch, refuse } from '../testing/answering-server.ts'
import { clientWhileLeading } from './while-leading.ts'

let clock: FakeClock
let server: AnsweringServer
let client: OwnedKubeClient
let reread: string[]
let hasChanged: boolean

beforeEach(async () => {
  clock = new FakeClock()
  server = await AnsweringServer.start(clock)
  client = server.connect()
  reread = []
  hasChanged = true
})
afterEach(() => server.close())

const listen = (): (() => void) | undefined =>
  clientWhileLeading(client, () => undefined).onReread?.(PERSISTENT_VOLUMES, ({ name }: ObjectRef, object) => {
    reread.push(`${name} ${object?.metadata?.resourceVersion ?? 'none'}`)
    return hasChanged
  })
const verbs = (): string[] => server.seen.map(({ call }) => call.replace(/ .*/, ''))
const lose = (response: ServerResponse): void => void response.destroy()
/** Sends a write that gets no answer. The server answers all later requests with `then`. */
async function writeLost(then = ok): Promise<void> {
  server.answer = (response, request) => {
    server.answer = then
    lose(response)
    void request
  }
  await expect(patch(client)).rejects.toMatchObject({ outcomeUnknown: true })
}

describe('unanswered writes', () => {
  test('after a write without an answer the client reads the object at once, and gives it to listeners', async () => {
    listen()
    await writeLost()
    await server.until(() => reread.length === 1)
    expect(reread).toEqual(['pv 1'])
    expect(verbs()).toEqual(['PATCH', 'GET'])
    // The object was read, so the writer can know its state and the next write is sent.
    expect(await patch(client)).toEqual(JSON.parse(OBJECT))
    expect(verbs()).toEqual(['PATCH', 'GET', 'PATCH'])
  })

  test('after a write without an answer, listeners learn if the object no longer exists', async () => {
    listen()
    await writeLost(refuse(404))
    await server.until(() => reread.length === 1)
    expect(reread).toEqual(['pv none'])
  })

  test.each([
    ['conflicts if the object has changed', true, { code: 409, reason: 'Conflict' }],
    ['is sent if the object has not changed', false, JSON.parse(OBJECT)],
  ])('after an unanswered write the next write waits for a read of the object, and %s', async (_, changes, result) => {
    hasChanged = changes
    listen()
    const gate = Promise.withResolvers<void>()
    await writeLost((response, request) => void gate.promise.then(() => ok(response, request)))
    const next = patch(client).catch((error: unknown) => error)
    await server.quiet()
    expect(verbs()).toEqual(['PATCH', 'GET'])
    gate.resolve()
    expect(await next).toMatchObject(result)
    expect(verbs()).toEqual(hasChanged ? ['PATCH', 'GET'] : ['PATCH', 'GET', 'PATCH'])
  })

  test('after an unanswered write, the client sends no further write to the object until it has read the object', async () => {
    listen()
    await writeLost(refuse(500))
    await server.until(() => server.seen.length === 2)
    await server.quiet()
    await expect(patch(client)).rejects.toMatchObject({ code: 500 })
    expect(verbs()).toEqual(['PATCH', 'GET', 'GET'])
    hasChanged = false
    server.answer = ok
    await patch(client)
    expect(verbs()).toEqual(['PATCH', 'GET', 'GET', 'GET', 'PATCH'])
  })

  test('a process without the permission to read the object sends the next write, whose guards still hold', async () => {
    listen()
    await writeLost(refuse(403))
    await server.until(() => server.seen.length === 2)
    await server.quiet()
    server.answer = ok
    await patch(client)
    expect(verbs()).toEqual(['PATCH', 'GET', 'PATCH'])
  })

  test('the read after an unanswered write ends after ten seconds if it hangs', async () => {
    listen()
    await writeLost(() => undefined)
    const next = patch(client).catch((error: unknown) => error)
    await server.until(() => server.seen.length === 2)
    await clock.advance(10_000)
    expect(await next).toMatchObject({ code: 0, outcomeUnknown: false })
  })

  test('an unanswered write does not delay writes to other objects', async () => {
    listen()
    await writeLost(() => undefined)
    await server.until(() => server.seen.length === 2)
    server.answer = ok
    await client.patch(PERSISTENT_VOLUMES, { name: 'other' }, { kind: 'merge', body: {} })
  })

  test('a write without an answer causes no read if there is no listener', async () => {
    listen()?.()
    await writeLost()
    await patch(client)
    expect(verbs()).toEqual(['PATCH', 'PATCH'])
  })
})

test('a refused write causes no read of its object', async () => {
  listen()
  server.answer = refuse(500)
  await expect(patch(client)).rejects.toMatchObject({ code: 500, outcomeUnknown: false })
  await server.quiet()
  expect(verbs()).toEqual(['PATCH'])
})
