// The registry on the loopback of the node: answers the pulls of containerd from the image layout. `up` starts it.
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type ImageNames, registryRequest } from '../build/image-names.ts'
import { FOLDERS } from '../machine/folders.ts'
import { REGISTRY_PORT } from './configuration.ts'

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'

interface Index {
  readonly manifests: readonly { readonly digest: string; readonly annotations?: Readonly<Record<string, string>> }[]
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))

/** Returns the digest of the image to which the repository belongs now. */
function digestOf(repository: string): string | undefined {
  const name = (readJson(join(FOLDERS.state, 'images.json')) as ImageNames)[repository]
  const { manifests } = readJson(join(FOLDERS.images, 'index.json')) as Index
  return manifests.find(({ annotations }) => annotations?.['org.opencontainers.image.ref.name'] === name)?.digest
}

function answer(response: ServerResponse, digest: string | undefined, { type, body }: { type: string; body: boolean }) {
  const file = digest === undefined ? '' : join(FOLDERS.images, 'blobs', digest.replace(':', '/'))
  if (digest === undefined || !existsSync(file)) {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, {
    'Content-Type': type,
    'Content-Length': statSync(file).size,
    'Docker-Content-Digest': digest,
  })
  if (body) createReadStream(file).pipe(response)
  else response.end()
}

createServer(({ url = '', method }, response) => {
  const request = registryRequest(url)
  const body = method === 'GET'
  switch (request?.kind) {
    case 'version':
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
      break
    case 'manifest': {
      const { repository, reference } = request
      const digest = reference.startsWith('sha256:') ? reference : digestOf(repository)
      answer(response, digest, { type: MANIFEST, body })
      break
    }
    case 'blob':
      answer(response, request.digest, { type: 'application/octet-stream', body })
      break
    default:
      response.writeHead(404).end()
  }
}).listen(REGISTRY_PORT, '127.0.0.1')
