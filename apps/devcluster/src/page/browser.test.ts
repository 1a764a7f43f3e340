import process from 'node:process'
import { systemClock } from '@csi-sidecars/base'
import { EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { type Browser, findBrowser, startBrowser } from '../testing/browser.ts'
import { claimOf, inDefault, podOf, startTestCluster } from '../testing/cluster.ts'
import { startPage } from './page.ts'

jest.setTimeout(60_000)

const command = findBrowser()
if (command === undefined) {
  const lack = 'The page is not tested in a browser: there is no chromium here.'
  // The runners of the workflows have one: without it this test would be gone, and nobody would know.
  if (process.env['GITHUB_ACTIONS'] !== undefined) throw new Error(lack)
  process.stderr.write(`${lack}\n`)
}

const row = (id: string): string => `document.querySelector('[data-id="${id}"]')`
const textOf = (id: string): string => `(${row(id)}?.innerText ?? '')`

;(command === undefined ? describe.skip : describe)('the page in a real browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser(command ?? '')
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
  })

  it("shows a volume's way from nothing to a pod and back, without being loaded again", async () => {
    await using test = await startTestCluster()
    const { client, caches } = test.cluster
    await using served = await startPage({ caches, client, clock: systemClock, log: silentLogger, port: 0 })
    await using page = await browser.open(served.url)
    await page.until(`document.querySelector('#link').innerText === 'live'`)
    expect(await page.evaluate(`document.querySelector('#none').hidden`)).toBe(false)

    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await page.until(`${textOf('default/data')}.includes('bound')`)
    expect(await page.evaluate(`[...document.querySelectorAll('#volumes th')].map((th) => th.innerText)`)).toEqual([
      'Claim',
      'State',
      'Size',
      'node-1',
      'node-2',
    ])

    const publish = test.driver.faults.hold({ method: 'ControllerPublishVolume' })
    await client.create(PODS, podOf('app', 'node-2', 'data'))
    await page.until(`${row('default/data')}.cells[4].innerText === 'attaching'`)
    publish.release()
    await page.until(`${row('default/data')}.cells[4].innerText === 'mounted app'`)

    const expand = test.driver.faults.hold({ method: 'ControllerExpandVolume' })
    const grow = { kind: 'merge' as const, body: { spec: { resources: { requests: { storage: '4Gi' } } } } }
    await client.patch(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), grow)
    await page.until(`${textOf('default/data')}.includes('expanding')`)
    expect(await page.evaluate(`${row('default/data')}.querySelector('.bar').getAttribute('aria-label')`)).toBe(
      '1Gi of 4Gi',
    )
    expect(await page.evaluate(`${row('default/data')}.querySelector('.bar i').style.width`)).toBe('25%')
    expand.release()
    await page.until(`${row('default/data')}.querySelector('.bar').getAttribute('aria-label') === '4Gi'`)

    const unpublish = test.driver.faults.hold({ method: 'ControllerUnpublishVolume' })
    await client.delete(PODS, inDefault('app'))
    await page.until(`${row('default/data')}.cells[4].innerText === 'detaching'`)
    unpublish.release()
    await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    await page.until(`document.querySelectorAll('#volumes tbody tr').length === 0`)
  })

  it('shows words from the cluster as words', async () => {
    await using test = await startTestCluster()
    const { client, caches } = test.cluster
    await using served = await startPage({ caches, client, clock: systemClock, log: silentLogger, port: 0 })
    await using page = await browser.open(served.url)
    const involvedObject = { kind: 'Pod', name: 'x', namespace: 'default' }
    test.api.create(EVENTS, {
      metadata: { name: 'bad', namespace: 'default' },
      involvedObject,
      reason: 'Bad',
      message: '<img src=x onerror="document.title=1">',
    })
    await page.until(`document.querySelector('#events').innerText.includes('<img')`)
    expect(await page.evaluate(`document.querySelectorAll('img').length`)).toBe(0)
  })

  it('finds volumes by name and state', async () => {
    await using test = await startTestCluster()
    const { client, caches } = test.cluster
    await using served = await startPage({ caches, client, clock: systemClock, log: silentLogger, port: 0 })
    await using page = await browser.open(served.url)
    for (const name of ['alpha', 'beta']) await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf(name))
    await page.until(`document.querySelectorAll('#volumes tbody tr').length === 2`)
    await page.evaluate(`(() => {
      const filter = document.querySelector('#filter')
      filter.value = 'alp'
      filter.dispatchEvent(new Event('input'))
    })()`)
    await page.until(`document.querySelectorAll('#volumes tbody tr').length === 1`)
    expect(await page.evaluate(`${row('default/alpha')} !== null`)).toBe(true)
  })

  it('says so when the cluster is gone', async () => {
    await using test = await startTestCluster()
    const { client, caches } = test.cluster
    const served = await startPage({ caches, client, clock: systemClock, log: silentLogger, port: 0 })
    await using page = await browser.open(served.url)
    await page.until(`document.querySelector('#link').innerText === 'live'`)
    await served[Symbol.asyncDispose]()
    await page.until(`document.querySelector('#link').className === 'lost'`)
  })
})
