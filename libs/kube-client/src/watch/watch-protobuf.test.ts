import type { ServerResponse } from 'node:http'
import { FakeClock } from '@csi-sidecars/base/testing'
import { POD_MESSAGE, PODS, type Pod } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { WatchOptions } from '../api/client.ts'
import { AnsweringServer } from '../testing/answering-server.ts'
import { enveloped, field, frame, framed, pod, status } from '../testing/messages.ts'

const STREAM = 'application/vnd.kubernetes.protobuf;stream=watch'

let server: AnsweringServer
let accepted: (string | undefined)[]
beforeEach(async () => {
  server = await AnsweringServer.start(new FakeClock())
  accepted = []
})
afterEach(() => server.close())

function serve(how: (response: ServerResponse) => void, type = STREAM): void {
  server.answer = (response, request) => {
    // The client reads this path now and then to check whether the server is reachable.
    if (request.url === '/version') return void response.end('{}')
    accepted.push(request.headers.accept)
    response.writeHead(200, { 'content-type': type })
    how(response)
  }
}

/** Reads a whole watch and returns its frames as text. */
async function read(options: WatchOptions<Pod> = {}, received: string[] = []): Promise<string[]> {
  for await (const frame of server.connect().watch(PODS, { message: POD_MESSAGE, ...options })) {
    if (frame.type === 'END') received.push(`END ${frame.why}${frame.error ? `: ${frame.error.message}` : ''}`)
    else if (frame.type === 'BOOKMARK') received.push(`BOOKMARK ${frame.resourceVersion} ${frame.initialEventsEnd}`)
    else received.push(`${frame.type} ${frame.object.metadata?.name}`)
  }
  return received
}

const bookmark = (...annotations: Buffer[]): Buffer =>
  frame('BOOKMARK', enveloped(field(1, field(6, '9'), ...annotations)))
const change = (type: string, name: string): Buffer => frame(type, enveloped(pod(name)))

describe('protobuf streams', () => {
  test('a watch in protobuf delivers every change, however the stream is split into chunks', async () => {
    const bytes = Buffer.concat([change('ADDED', 'a'), change('MODIFIED', 'ä'), change('DELETED', 'a'), bookmark()])
    serve((response) => {
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
      response.end()
    })
    expect(await read()).toEqual(['ADDED a', 'MODIFIED ä', 'DELETED a', 'BOOKMARK 9 false', 'END closed'])
    expect(accepted).toEqual([`${STREAM}, application/json`])
  })

  test('a watch requests protobuf only if its caller can decode protobuf', async () => {
    serve((response) => response.end(), 'application/json')
    expect(await read({ message: undefined })).toEqual(['END closed'])
    expect(accepted).toEqual(['application/json'])
  })

  test('a watch that requests protobuf reads JSON if the server does not support protobuf', async () => {
    const line = JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'a' } } })
    serve((response) => response.end(`${line}\n`), 'application/json')
    expect(await read()).toEqual(['ADDED a', 'END closed'])
  })

  test('a bookmark in protobuf marks the end of a streaming list', async () => {
    serve((response) => response.end(bookmark(field(12, field(1, 'k8s.io/initial-events-end'), field(2, 'true')))))
    expect(await read({ sendInitialEvents: true })).toEqual(['BOOKMARK 9 true', 'END closed'])
  })

  test('a watch passes each change to `onChange` at once, and keeps the order of bookmarks and changes', async () => {
    serve((response) => response.end(Buffer.concat([change('ADDED', 'a'), bookmark(), change('DELETED', 'a')])))
    const received: string[] = []
    const onChange: WatchOptions<Pod>['onChange'] = ({ type, object }) =>
      received.push(`${type} ${object.metadata?.name}!`)
    await read({ onChange }, received)
    expect(received).toEqual(['ADDED a!', 'BOOKMARK 9 false', 'DELETED a!', 'END closed'])
  })

  const CUT = enveloped(pod('a')).subarray(0, -3)
  test.each<[string, (response: ServerResponse) => void, string]>([
    [
      'that the connection cuts',
      (r) => void r.write(change('ADDED', 'a'), () => r.destroy()),
      'broken: unexpected EOF',
    ],
    ['that ends within a frame', (r) => r.end(change('ADDED', 'a').subarray(0, 20)), 'broken: unexpected EOF'],
    ['that ends within a length', (r) => r.end(Buffer.from([0, 0])), 'broken: unexpected EOF'],
    [
      'of HTML',
      (r) => r.end(framed(Buffer.from('<html>'))),
      'badFrame: no watch event: 6 bytes that are no protobuf: proto: illegal wireType 4',
    ],
    ['of a frame that never ends', (r) => void r.write('<html>'), 'badFrame: a frame is longer than 33554432 bytes'],
    ['of an empty event', (r) => r.end(framed(Buffer.alloc(0))), 'badFrame: unknown type of watch event: ""'],
    [
      'of an incomplete object',
      (r) => r.end(frame('ADDED', CUT)),
      `badFrame: no watch event: ${frame('ADDED', CUT).length - 4} bytes that are no protobuf: unexpected EOF`,
    ],
    [
      'of an object without the prefix of objects',
      (r) => r.end(frame('ADDED', pod('a'))),
      `badFrame: no watch event: ${frame('ADDED', pod('a')).length - 4} bytes that are no protobuf: no object of the API`,
    ],
    ['of an unknown event', (r) => r.end(change('RENAMED', 'a')), 'badFrame: unknown type of watch event: "RENAMED"'],
    [
      'of an empty bookmark',
      (r) => r.end(frame('BOOKMARK', enveloped(Buffer.alloc(0)))),
      'badFrame: a bookmark without a resourceVersion',
    ],
    ['with an ERROR', (r) => r.end(frame('ERROR', status('too old', 'Expired'))), 'error: too old'],
    [
      'with an ERROR that is no Status',
      (r) => r.end(frame('ERROR', enveloped(pod('a')))),
      'error: an ERROR without a Status',
    ],
    ['that the server ends regularly', (r) => r.end(), 'closed'],
  ])('a watch in protobuf %s ends with the matching reason', async (_, how, end) => {
    serve(how)
    expect((await read()).at(-1)).toBe(`END ${end}`)
  })

  test('a watch ends with an error if the server sends protobuf without a request for it', async () => {
    serve((response) => response.end(change('ADDED', 'a')))
    const why = 'no watch event: protobuf that was not asked for'
    expect(await read({ message: undefined })).toEqual([`END badFrame: ${why}`])
  })

  test('a refused watch throws the error in the protobuf Status', async () => {
    server.answer = (response) =>
      void response.writeHead(410, { 'content-type': STREAM }).end(status('too old resource version', 'Expired'))
    await expect(read()).rejects.toMatchObject({ code: 410, reason: 'Expired', message: 'too old resource version' })
  })
})

describe('protobuf lists', () => {
  const list = async (): Promise<unknown[]> => {
    const received: unknown[] = []
    const project = ({ metadata }: Pod): string => metadata?.name ?? ''
    for await (const page of server.connect().list(PODS, { message: POD_MESSAGE, project })) received.push(page)
    return received
  }

  test.each([
    [
      'protobuf',
      enveloped(Buffer.concat([field(1, field(2, '7')), field(2, pod('a'))])),
      'application/vnd.kubernetes.protobuf',
    ],
    [
      'JSON',
      JSON.stringify({ metadata: { resourceVersion: '7' }, items: [{ metadata: { name: 'a' } }] }),
      'application/json',
    ],
  ])('a list that requests protobuf works if the server sends %s', async (_, body, type) => {
    serve((response) => response.end(body), type)
    expect(await list()).toEqual([{ items: ['a'], resourceVersion: '7', continue: undefined }])
    expect(accepted).toEqual(['application/vnd.kubernetes.protobuf, application/json'])
  })

  test('a protobuf body that is not a list fails the list request', async () => {
    serve((response) => response.end('oops'), 'application/vnd.kubernetes.protobuf')
    await expect(list()).rejects.toMatchObject({ code: 0, message: expect.stringContaining('is no list: protobuf') })
  })
})
