// A process that keeps a port busy: `node slow-crowd.ts PORT COUNT`. Each client sends its request a byte at a time and
// connects again as soon as it is closed. Apart from the test, so that its own work does not delay what the test measures.
import { connect } from 'node:net'
import { pause } from './waiting.ts'

const [port = 0, count = 0] = process.argv.slice(2).map(Number)
const BETWEEN_BYTES_MS = 100
const REQUEST = `GET /metrics HTTP/1.1\r\nHost: ${'x'.repeat(500)}\r\n\r\n`

async function slowRequest(): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined).resume()
  for (const byte of REQUEST) {
    if (socket.destroyed) break
    socket.write(byte)
    await Promise.race([pause(BETWEEN_BYTES_MS), closed])
  }
  socket.destroy()
  await closed
}

async function slowClient(): Promise<never> {
  for (;;) await slowRequest()
}

await Promise.race(Array.from({ length: count }, slowClient))
