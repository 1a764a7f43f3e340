import { FakeClock } from '@csi-sidecars/base/testing'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { OwnedKubeClient } from '../create-client.ts'
import { type Answering, AnsweringServer, get, ok, patch, refuse } from '../testing/answering-server.ts'

let server: AnsweringServer
beforeEach(async () => {
  server = await AnsweringServer.start(new FakeClock())
})
afterEach(() => server.close())

const JSON_TYPE = { 'Content-Type': 'application/json' }
const watch = (client: OwnedKubeClient): Promise<unknown> =>
  client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()

describe('a refusal', () => {
  test.each([
    ['a text', '"3"'],
    ['negative', '-3'],
    ['a fraction', '0.5'],
    ['beyond all numbers', '1e999'],
    ['a list', '[3]'],
  ])('a refusal asks for no wait if the retryAfterSeconds in its Status are %s', async (_, seconds) => {
    const body = `{"kind":"Status","code":"x","message":"no","details":{"retryAfterSeconds":${seconds}}}`
    server.answer = refuse(500, JSON_TYPE, body)
    const refused = patch(server.connect())
    await expect(refused).rejects.toMatchObject({ code: 500, message: 'no', retryAfterMs: undefined })
  })

  test.each([
    ['a request', get],
    ['a watch', watch],
  ])('the client reads a refusal whose body never ends only up to a size limit: %s', async (_, ask) => {
    const endless = endlessText()
    server.answer = endless.answer
    const client = server.connect()
    await expect(ask(client)).rejects.toMatchObject({ code: 403, message: expect.stringMatching(/^no+ /) })
    await server.until(() => endless.closed())
    expect(endless.written()).toBeLessThan(20 * 1024 * 1024)
    server.answer = ok
    expect(await get(client)).toBeDefined()
  })
})

/** Returns an answer whose body never ends. */
function endlessText(): { answer: Answering; written: () => number; closed: () => boolean } {
  let written = 0
  let closed = false
  const part = 'o'.repeat(64 * 1024)
  const answer: Answering = (response) => {
    response.writeHead(403, { 'Content-Type': 'text/plain' }).write('n')
    const more = (): void => {
      while (!closed && response.write(part)) written += part.length
    }
    response.on('drain', more).on('close', () => {
      closed = true
    })
    more()
  }
  return { answer, written: () => written, closed: () => closed }
}
