import { systemClock } from '@csi-sidecars/base'
import { DEFAULT_SETTINGS } from '@csi-sidecars/emulator'
import { PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { type Page, startPage } from '../page/page.ts'
import { StoryScenario } from '../story/scenario.ts'
import type { Appearance, BrowserPage } from './browser.ts'
import { claimOf, inDefault, isRunning, podOf, startTestCluster, type TestCluster } from './cluster.ts'

/** A cluster whose page is open in a browser. */
export interface OpenPage {
  readonly test: TestCluster
  readonly page: BrowserPage
  readonly served: Page
}

/** A state of the page, and the actions that lead a new cluster to this state. */
export interface PageState {
  readonly name: string
  readonly like: Appearance
  readonly make: (scene: OpenPage) => Promise<void>
}

const DESK = { width: 1280, height: 900, scheme: 'light' } as const
const PHONE = { width: 390, height: 844, scheme: 'light' } as const

export async function servePage(test: TestCluster): Promise<Page> {
  const { cluster } = test
  const story = new StoryScenario({ cluster, clock: systemClock, stepMs: 15_000, pauseMs: 0 })
  return await startPage({ cluster, clock: systemClock, log: silentLogger, port: 0, story })
}

/** Creates a claim without a class, a pod whose volume is attached to another node, and a driver that fails. */
async function troubles({ test, page }: OpenPage): Promise<void> {
  const { client } = test.cluster
  await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
  await client.create(PODS, podOf('app', 'node-1', 'data'))
  await test.until(PODS, inDefault('app'), isRunning)
  await client.create(PODS, podOf('second', 'node-2', 'data'))
  const { storageClassName: _, ...bare } = claimOf('bare').spec
  await client.create(PERSISTENT_VOLUME_CLAIMS, { ...claimOf('bare'), spec: bare })
  test.driver.faults.add({
    match: { method: 'CreateVolume' },
    action: { kind: 'fail', code: 'RESOURCE_EXHAUSTED', message: 'no room in the pool' },
  })
  await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('logs'))
  for (const text of ['Multi-Attach', 'names no class', 'no room in the pool']) {
    await page.until(`document.querySelector('#waiting').innerText.includes('${text}')`)
  }
}

async function running({ test, page }: OpenPage): Promise<void> {
  const { client } = test.cluster
  for (const [index, name] of ['data', 'logs', 'cache'].entries()) {
    await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf(name))
    await client.create(PODS, podOf(`app-${index + 1}`, `node-${(index % 2) + 1}`, name))
  }
  await page.until(`document.querySelectorAll('#rows .tag.mounted').length === 3`)
}

async function reported({ page }: OpenPage): Promise<void> {
  await page.until(`document.querySelectorAll('.step').length === 10`)
  await page.evaluate(`document.querySelector('[aria-label^="Run step 3"]').click()`)
  await page.until(`document.querySelectorAll('.step .tag.succeeded').length === 3`)
}

/** Opens all elements of the page that can be opened. */
async function opened(scene: OpenPage): Promise<void> {
  await reported(scene)
  await scene.page.evaluate(`document.querySelectorAll('details').forEach((details) => {
    details.removeAttribute('name')
    details.open = true
  })`)
}

async function stopped(scene: OpenPage): Promise<void> {
  await reported(scene)
  await scene.page.evaluate(`(() => {
    document.querySelector('#stop').click()
    const moment = document.querySelector('#moment')
    moment.value = String(Math.floor(moment.max / 2))
    moment.dispatchEvent(new Event('input'))
  })()`)
  await scene.page.until(
    `document.body.dataset.mode === 'stopped' && document.querySelectorAll('[data-id]').length > 0`,
  )
}

/** Sends a form that the cluster refuses. */
async function refused(scene: OpenPage): Promise<void> {
  const { page } = scene
  await empty(scene)
  await page.evaluate(`(() => {
    const form = document.querySelector('[data-action=createClaim]')
    form.elements.size.value = 'big'
    form.requestSubmit()
  })()`)
  await page.until(`document.querySelector('[aria-invalid=true]') !== null`)
}

async function empty({ page }: OpenPage): Promise<void> {
  await page.until(`document.querySelector('#link').innerText === 'connected'`)
  await page.until(`document.querySelectorAll('form').length > 5`)
}

export const PAGE_STATES: readonly PageState[] = [
  { name: 'empty', like: DESK, make: empty },
  { name: 'empty-phone', like: PHONE, make: empty },
  { name: 'running', like: DESK, make: running },
  { name: 'running-dark', like: { ...DESK, scheme: 'dark' }, make: running },
  { name: 'troubles', like: DESK, make: troubles },
  { name: 'troubles-dark', like: { ...DESK, scheme: 'dark' }, make: troubles },
  { name: 'troubles-phone', like: PHONE, make: troubles },
  { name: 'troubles-phone-dark', like: { ...PHONE, scheme: 'dark' }, make: troubles },
  { name: 'refused', like: DESK, make: refused },
  { name: 'opened', like: DESK, make: opened },
  { name: 'opened-phone-dark', like: { ...PHONE, scheme: 'dark' }, make: opened },
  { name: 'stopped', like: DESK, make: stopped },
]

/**
 * Calls `look` with the page in the given state. The cluster has two nodes, substitutes for the sidecars and a driver
 * that takes snapshots and clones volumes, so the page has the steps of `npm start`.
 */
export async function inOpenPage(
  open: (url: string) => Promise<BrowserPage>,
  { like, make }: PageState,
  inspect: (scene: OpenPage) => Promise<void>,
): Promise<void> {
  const controller = [...DEFAULT_SETTINGS.controller, 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'] as const
  const substitutes = ['csi-attacher', 'csi-resizer', 'csi-provisioner', 'csi-snapshotter'] as const
  await using test = await startTestCluster({ driver: { controller }, substitutes })
  await using served = await servePage(test)
  await using page = await open(served.url)
  await page.setAppearance(like)
  await make({ test, page, served })
  await inspect({ test, page, served })
}
