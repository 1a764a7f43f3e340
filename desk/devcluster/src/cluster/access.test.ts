import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { expect, it } from '@jest/globals'
import { startTestCluster } from '../testing/cluster.ts'

it("the API server gives admin rights only to requests with the token of the cluster's kubeconfig", async () => {
  await using test = await startTestCluster({ nodes: 1 })
  const { cluster, api } = test
  const text = await readFile(cluster.kubeconfig, 'utf8')
  const [, encoded = ''] = /"certificate-authority-data":"([^"]+)"/.exec(text) ?? []
  const [, token = ''] = /"token":"([^"]+)"/.exec(text) ?? []
  const codeFor = (headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const ca = Buffer.from(encoded, 'base64')
      const sent = request(
        `${api.url}/api/v1/secrets`,
        { ca, headers, agent: false, servername: 'localhost' },
        (response) => {
          response.resume().once('end', () => resolve(response.statusCode))
        },
      )
      sent.once('error', reject).end()
    })
  const authorization = `Bearer ${token}`
  expect(await codeFor({ authorization })).toBe(200)
  expect(await codeFor({})).toBe(403)
  expect(await codeFor({ authorization: 'Bearer other' })).toBe(401)
  expect(await codeFor({ authorization, host: 'evil.example.com' })).toBe(403)
  expect(await codeFor({ authorization, 'sec-fetch-site': 'cross-site' })).toBe(403)
})
