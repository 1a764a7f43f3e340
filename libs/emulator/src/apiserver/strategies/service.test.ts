import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { JsonObject } from '../schema/json.ts'
import { type ApiServer, startApiServer } from '../server.ts'

let api: ApiServer
beforeEach(async () => {
  api = await startApiServer()
})
afterEach(() => api.stop())

const SERVICES = '/api/v1/namespaces/default/services'

async function ask(method: string, path: string, body: object): Promise<JsonObject> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const init = { method, body: JSON.stringify(body), headers: { 'content-type': type } }
  const answer = (await (await fetch(api.url + path, init)).json()) as { spec?: JsonObject; message?: string }
  return answer.spec ?? { message: answer.message }
}

const made = async (name: string, spec: object): Promise<JsonObject> =>
  await ask('POST', SERVICES, { metadata: { name }, spec })

test('each service has a unique address and unique node ports, and keeps them', async () => {
  const ports = [
    { name: 'a', port: 80 },
    { name: 'b', port: 81, nodePort: 30_000 },
  ]
  expect(await made('one', { type: 'NodePort', ports })).toMatchObject({
    clusterIP: '10.96.0.2',
    ports: [
      { port: 80, nodePort: 30_001 },
      { port: 81, nodePort: 30_000 },
    ],
  })
  expect(await made('two', { type: 'NodePort', ports: [{ port: 80 }] })).toMatchObject({
    clusterIPs: ['10.96.0.3'],
    ports: [{ nodePort: 30_002 }],
  })
  const again = await ask('PUT', `${SERVICES}/one`, {
    metadata: { name: 'one' },
    spec: { type: 'NodePort', ports: [{ port: 80 }] },
  })
  expect(again).toMatchObject({ clusterIP: '10.96.0.2', ports: [{ port: 80, nodePort: 30_001 }] })
})

test('a service that stops being a name elsewhere gets an address, and the other way round', async () => {
  expect(await made('one', { type: 'ExternalName', externalName: 'example.com' })).not.toHaveProperty('clusterIP')
  const change = { spec: { type: 'ClusterIP', externalName: null, ports: [{ port: 80 }] } }
  expect(await ask('PATCH', `${SERVICES}/one`, change)).toMatchObject({ clusterIP: '10.96.0.2' })
  const back = await ask('PATCH', `${SERVICES}/one`, { spec: { type: 'ExternalName', externalName: 'example.com' } })
  expect(back).not.toHaveProperty('clusterIP')
})

test('an address does not change', async () => {
  await made('one', { ports: [{ port: 80 }] })
  const { message } = await ask('PATCH', `${SERVICES}/one`, { spec: { clusterIP: '10.96.0.9' } })
  expect(message).toContain('may not change once set')
})
