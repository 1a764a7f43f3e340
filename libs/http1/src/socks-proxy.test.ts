import type { AddressInfo } from 'node:net'
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { throughSocksProxy } from './socks-proxy.ts'

/** The number of bytes that the proxy reads, and the answer that it then sends. */
type Script = readonly { readonly reads: number; readonly answers: readonly number[] }[]

const GREETING = { reads: 3, answers: [5, 0] }
const IPV4_REPLY = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

let proxy: Server
let heard: number[][]
let script: Script
let sockets: Set<Socket>
beforeEach(async () => {
  heard = []
  sockets = new Set()
  proxy = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    socket.setNoDelay(true)
    serve(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  proxy.close()
})

function serve(socket: Socket): void {
  let bytes = Buffer.alloc(0)
  const left = [...script]
  const answer = (): void => {
    for (let step = left[0]; step !== undefined && bytes.length >= step.reads; step = left[0]) {
      heard.push([...bytes.subarray(0, step.reads)])
      bytes = bytes.subarray(step.reads)
      left.shift()
      // The proxy sends one byte at a time, because the client must not rely on the size of chunks.
      for (const byte of step.answers) socket.write(Buffer.from([byte]))
      if (left.length === 0) socket.write('hello')
    }
  }
  socket.on('data', (more: Buffer) => {
    bytes = Buffer.concat([bytes, more])
    answer()
  })
}

async function open(host: string, credentials = '', signal = new AbortController().signal): Promise<Socket> {
  const { port } = proxy.address() as AddressInfo
  const socket = await throughSocksProxy(new URL(`socks5://${credentials}127.0.0.1:${port}`))(
    { host, port: 6443 },
    signal,
  )
  sockets.add(socket)
  return socket
}
const PORT = [6443 >> 8, 6443 & 255]

describe('a stream', () => {
  test.each([
    ['10.1.2.3', [1, 10, 1, 2, 3]],
    ['api.x', [3, 5, 97, 112, 105, 46, 120]],
    ['::1', [4, ...Array<number>(15).fill(0), 1]],
    ['fd00:1::2:3', [4, 0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3]],
    ['::ffff:10.0.0.1', [4, ...Array<number>(10).fill(0), 255, 255, 10, 0, 0, 1]],
  ])('the SOCKS proxy opens a stream to %s, which begins right after the reply', async (host, address) => {
    script = [GREETING, { reads: 5 + address.length, answers: IPV4_REPLY }]
    const socket = await open(host)
    expect(heard).toEqual([
      [5, 1, 0],
      [5, 1, 0, ...address, ...PORT],
    ])
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
    expect(first.toString()).toMatch(/^h/)
  })

  test.each([
    ['a name', [5, 0, 0, 3, 3, 97, 98, 99, 0, 0]],
    ['an address of version 6', [5, 0, 0, 4, ...Array<number>(18).fill(0)]],
  ])('the stream begins right after a reply of the SOCKS proxy that contains %s', async (_, answers) => {
    script = [GREETING, { reads: 10, answers }]
    const socket = await open('10.1.2.3')
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
    expect(first.toString()).toMatch(/^h/)
  })

  test('the client sends user and password if the SOCKS proxy requires them', async () => {
    script = [
      { reads: 4, answers: [5, 2] },
      { reads: 8, answers: [1, 0] },
      { reads: 10, answers: IPV4_REPLY },
    ]
    await open('10.1.2.3', 'me:p%20w@')
    expect(heard.slice(0, 2)).toEqual([
      [5, 2, 0, 2],
      [1, 2, 109, 101, 3, 112, 32, 119],
    ])
  })
})

describe('failures', () => {
  test.each<[string, string, Script, string]>([
    ['no accepted method', '', [{ reads: 3, answers: [5, 255] }], 'no acceptable authentication methods'],
    ['an unsupported method', '', [{ reads: 3, answers: [5, 2] }], 'no acceptable authentication methods'],
    [
      'a wrong password',
      'a:b@',
      [
        { reads: 4, answers: [5, 2] },
        { reads: 5, answers: [1, 1] },
      ],
      'username/password authentication failed',
    ],
    ['another protocol', '', [{ reads: 3, answers: [72, 84] }], 'unexpected protocol version 72'],
    ['a refusal', '', [GREETING, { reads: 10, answers: [5, 5, 0, 1] }], 'unknown error connection refused'],
    ['an unknown refusal', '', [GREETING, { reads: 10, answers: [5, 99, 0, 1] }], 'unknown error unknown code: 99'],
    ['an unknown kind of address', '', [GREETING, { reads: 10, answers: [5, 0, 0, 9] }], 'unknown address type 9'],
  ])('the client reports %s with the message of Go', async (_, credentials, replies, why) => {
    script = replies
    const { port } = proxy.address() as AddressInfo
    await expect(open('10.1.2.3', credentials)).rejects.toHaveProperty(
      'message',
      `socks connect tcp 127.0.0.1:${port}->10.1.2.3:6443: ${why}`,
    )
  })

  test('the client reports a SOCKS proxy that disconnects', async () => {
    script = []
    proxy.on('connection', (socket: Socket) => socket.destroy())
    await expect(open('10.1.2.3')).rejects.toThrow(/^socks connect tcp .*(EOF|ECONNRESET|EPIPE)/)
  })

  test('an aborted connection attempt through a SOCKS proxy rejects with the reason of its signal', async () => {
    script = [{ reads: 3, answers: [] }]
    const stop = new AbortController()
    const opening = open('10.1.2.3', '', stop.signal)
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(opening).rejects.toBe(reason)
  })
})

test('a connection through a SOCKS proxy carries bytes in both directions', async () => {
  const echo = createServer((socket) => socket.pipe(socket))
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  script = []
  proxy.removeAllListeners('connection')
  proxy.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]))
      socket.once('data', () => {
        socket.write(Buffer.from(IPV4_REPLY))
        const onward = connectTcp((echo.address() as AddressInfo).port, '127.0.0.1')
        sockets.add(onward)
        socket.pipe(onward).pipe(socket)
      })
    })
  })
  const socket = await open('10.1.2.3')
  socket.write('there and back')
  const back = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  expect(back.toString()).toBe('there and back')
  socket.destroy()
  echo.close()
})
