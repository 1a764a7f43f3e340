// The server of the benchmark: node server.ts CERTIFICATE KEY. It prints its port, and answers each PATCH.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

const [certificate = '', key = ''] = process.argv.slice(2)
const ANSWER = JSON.stringify({ kind: 'VolumeAttachment', metadata: { name: 'va' }, text: 'x'.repeat(1_500) })

const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': ANSWER.length }).end(ANSWER)
  })
})
server.keepAliveTimeout = 0
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
