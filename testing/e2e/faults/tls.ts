import { connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { between as numberBetween } from '@csi-sidecars/disturb'
import { APPS } from '@csi-sidecars/sidecars'
import { selfSigned } from '../harness/api/cluster.ts'
import { listen } from '../harness/listen.ts'
import { type FaultCase, survives } from './case.ts'

/** Handles a connection from the sidecar and injects a fault. The API server listens on the port `upstream`. */
type Meddler = (socket: Socket, upstream: number) => void

const answer =
  (text: string | Buffer): Meddler =>
  (socket) =>
    socket.end(text)
const through = (socket: Socket, upstream: number): Socket => {
  const far = connect(upstream, '127.0.0.1')
  far.on('error', () => socket.destroy())
  socket.on('error', () => far.destroy())
  return far
}
/** Forwards the bytes of the sidecar. `meddle` gets each chunk of the answer with its position. */
const meddlingWithAnswers =
  (meddle: (socket: Socket, chunk: Buffer, position: number) => void): Meddler =>
  (socket, upstream) => {
    const far = through(socket, upstream)
    socket.pipe(far)
    let passed = 0
    far.on('data', (chunk: Buffer) => {
      meddle(socket, chunk, passed)
      passed += chunk.length
    })
  }
const stranger = createTlsServer({ ...selfSigned() })
stranger.on('tlsClientError', () => undefined)

const MEDDLERS: Readonly<Record<string, Meddler>> = {
  'closes at once': (socket) => socket.end(),
  'resets at once': (socket) => socket.resetAndDestroy(),
  'answers in plain HTTP': answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'),
  'answers with noise': answer(Buffer.alloc(2000, 0x17)),
  'answers with an alert': answer(Buffer.from('15030300020228', 'hex')),
  'answers with a record that is too long': answer(Buffer.from('160303ffff', 'hex')),
  'shows another certificate': (socket) => stranger.emit('connection', socket),
  'cuts in the handshake': meddlingWithAnswers((socket, chunk, position) => {
    if (position === 0) socket.end(chunk.subarray(0, 40))
  }),
  'cuts after some bytes': meddlingWithAnswers((socket, chunk, position) => {
    if (position + chunk.length > 3000) socket.destroy()
    else socket.write(chunk)
  }),
  'changes a byte': meddlingWithAnswers((socket, chunk, position) => {
    const at = 2500 - position
    if (at >= 0 && at < chunk.length) chunk.writeUInt8(chunk.readUInt8(at) ^ 1, at)
    socket.write(chunk)
  }),
  'gives a byte at a time': meddlingWithAnswers((socket, chunk) => {
    for (const byte of chunk.subarray(0, 200)) socket.write(Buffer.of(byte))
    socket.write(chunk.subarray(200))
  }),
}

export const tlsCases: readonly FaultCase[] = APPS.flatMap((app) =>
  Object.entries(MEDDLERS).map(([fault, meddle]) => ({
    app,
    kind: 'TLS',
    fault: `a man in the middle ${fault}`,
    run: async (t, random) => {
      const gate = await t.gate()
      const upstream = Number(new URL(gate.url).port)
      let left = 2 + numberBetween(random, 1, 6)
      const between = createServer((socket) => {
        socket.on('error', () => undefined)
        left -= 1
        if (left >= 0) return meddle(socket, upstream)
        const far = through(socket, upstream)
        socket.pipe(far).pipe(socket)
      })
      using listening = await listen(between)
      const user = t.cluster.user(app)
      const kubeconfig = t.kubeconfig(`https://127.0.0.1:${listening.port}`, user.token)
      await survives(t, { gate, user, args: [`--kubeconfig=${kubeconfig}`] })
    },
  })),
)
