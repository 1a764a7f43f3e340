import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { expect, it } from '@jest/globals'
import { startTestCluster } from '../testing/cluster.ts'

it("only requests with the token of the cluster's kubeconfig that no other web site sends get admin rights", async () => {
  await using test = await startTestCluster({ nodes: 1 })
  const { cluster, api } = test
  const text = await readFile(cluster.kubeconfig, 'utf8')
  const [, encoded = ''] = /"certificate-authority-data":"([^"]+)"/.exec(text) ?? []
  const [, token = ''] = /"token":"([^"]+)"/.exec(text) ?? []
  const url = `${api.url}/api/v1/namespaces/default/configmaps`
  const ca = Buffer.from(encoded, 'base64')
  const codeOf = (method: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method, ca, headers, agent: false, servername: 'localhost' }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode))
      })
      const body = JSON.stringify({ metadata: { generateName: 'a-' } })
      sent.once('error', reject).end(method === 'POST' ? body : undefined)
    })
  const codesFor = (headers: Readonly<Record<string, string>>): Promise<readonly (number | undefined)[]> =>
    Promise.all(['GET', 'POST'].map((method) => codeOf(method, headers)))
  const authorization = `Bearer ${token}`
  expect(await codesFor({ authorization })).toEqual([200, 201])
  expect(await codesFor({})).toEqual([403, 403])
  expect(await codesFor({ authorization: 'Bearer other' })).toEqual([401, 401])
  expect(await codesFor({ authorization, host: 'evil.example.com' })).toEqual([403, 403])
  expect(await codesFor({ authorization, origin: 'https://evil.example.com' })).toEqual([403, 403])
  expect(await codesFor({ authorization, 'sec-fetch-site': 'cross-site' })).toEqual([403, 403])
})
