import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import axe from 'axe-core'
import { type Browser, type BrowserPage, findBrowser, startBrowser } from '../testing/browser.ts'
import { claimOf, inDefault, isRunning, podOf, startTestCluster } from '../testing/cluster.ts'
import { inOpenPage, type OpenPage, PAGE_STATES, servePage } from '../testing/page-states.ts'

jest.setTimeout(60_000)

const command = findBrowser()
if (command === undefined) {
  const lack = 'The page is not tested in a browser: there is no chromium here.'
  // The runners of GitHub have a browser, so a missing browser is an error there.
  if (process.env['GITHUB_ACTIONS'] !== undefined) throw new Error(lack)
  process.stderr.write(`${lack}\n`)
}

/** The folder of the screenshots, which git ignores. */
const PICTURES = join(import.meta.dirname, '../../../../.cache/pictures')

type Edges = Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>

/** The number of pixels by which the page is wider than the window. */
const SIDEWAYS = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

const ROW = 'claim/default/data'
const row = (id = ROW): string => `document.querySelector('[data-id="${id}"]')`
const textOf = (id?: string): string => `(${row(id)}?.innerText ?? '')`
const place = (node: string): string => `(${row()}?.querySelector('[data-node="${node}"]')?.innerText ?? '')`
const text = (id: string): string => `document.querySelector('#${id}').innerText`

;(command === undefined ? describe.skip : describe)('the page in a real browser', () => {
  let browser: Browser
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true })
    browser = await startBrowser(command ?? '')
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
  })

  async function onPage(work: (scene: OpenPage) => Promise<void>): Promise<void> {
    await using test = await startTestCluster()
    await using served = await servePage(test)
    await using page = await browser.open(served.url)
    await page.until(`${text('link')} === 'connected'`)
    await work({ test, page, served })
    expect(page.problems).toEqual([])
  }

  it.each(PAGE_STATES)('the page fits the window and is accessible in the state $name', async (state) => {
    await inOpenPage(browser.open, state, async ({ page }) => {
      await page.untilStill()
      writeFileSync(join(PICTURES, `${state.name}.png`), await page.screenshot())
      expect(page.problems).toEqual([])
      expect(await page.evaluate(SIDEWAYS)).toBe(0)
      expect(await lackOf(page)).toEqual([])
      expect(await violationsOf(page)).toEqual([])
    })
  })

  it('the page follows a volume from its creation into a pod and to its deletion, without a reload', async () => {
    await onPage(async ({ test, page }) => {
      const { client } = test.cluster
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
      await page.until(`${textOf()}.includes('Bound')`)
      const publish = test.driver.faults.hold({ method: 'ControllerPublishVolume' })
      await client.create(PODS, podOf('app', 'node-2', 'data'))
      await page.until(`${place('node-2')} === 'node-2 attaching'`)
      await page.until(`${textOf()}.includes('csi-attacher: attaches the volume to node-2')`)
      publish.release()
      await page.until(`${place('node-2')} === 'node-2 mounted in app'`)
      await page.until(`${textOf()}.includes('desired state reached')`)

      const expand = test.driver.faults.hold({ method: 'ControllerExpandVolume' })
      const grow = { kind: 'merge' as const, body: { spec: { resources: { requests: { storage: '4Gi' } } } } }
      await client.patch(PERSISTENT_VOLUME_CLAIMS, inDefault('data'), grow)
      await page.until(`${row()}.querySelector('.bar').getAttribute('aria-label') === '1Gi of 4Gi'`)
      expect(await page.evaluate(`${row()}.querySelector('.bar i').style.width`)).toBe('25%')
      expand.release()
      await page.until(`${row()}.querySelector('.bar').getAttribute('aria-label') === '4Gi'`)

      const unpublish = test.driver.faults.hold({ method: 'ControllerUnpublishVolume' })
      await client.delete(PODS, inDefault('app'))
      await page.until(`${place('node-2')} === 'node-2 detaching'`)
      unpublish.release()
      await client.delete(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
      await page.until(`document.querySelectorAll('#rows tr').length === 0`)
    })
  })

  it('opened details of a row stay open while the row changes', async () => {
    await onPage(async ({ test, page }) => {
      const { client } = test.cluster
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
      await page.until(`${row()}?.querySelector('.call summary')?.innerText.includes('CreateVolume')`)
      await page.evaluate(`(() => {
        window.opened = ${row()}.querySelector('.call')
        window.opened.open = true
        window.opened.querySelector('summary').focus()
      })()`)
      await client.create(PODS, podOf('app', 'node-1', 'data'))
      await page.until(`${row()}.querySelector('.call summary').innerText.includes('NodePublishVolume OK')`)
      expect(await page.evaluate(`window.opened.isConnected && window.opened.open`)).toBe(true)
      expect(await page.evaluate(`document.activeElement === window.opened.querySelector('summary')`)).toBe(true)
      expect(await page.evaluate(`window.opened.querySelector('pre').innerText`)).toContain('targetPath')
    })
  })

  it('the page can stop, step through its past states in both directions, and replay them', async () => {
    await onPage(async ({ test, page }) => {
      const { client } = test.cluster
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
      await page.until(`${textOf()}.includes('desired state reached')`)
      const click = (id: string): Promise<unknown> => page.evaluate(`document.querySelector('#${id}').click()`)
      await click('stop')
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('other'))
      await page.until(
        `Number(document.querySelector('#moment').max) > Number(document.querySelector('#moment').value)`,
      )
      expect(await page.evaluate(`${row('claim/default/other')} === null`)).toBe(true)
      // The cluster still adds steps, so the test ignores the total in `step 3 of 9`.
      const step = `${text('moment-text')}.match(/step \\d+/)?.[0]`
      const back = async (): Promise<string> => {
        const now = JSON.stringify(await page.evaluate<string | undefined>(step))
        await click('back')
        await page.until(`${step} !== ${now}`)
        return await page.evaluate<string>(step)
      }
      const once = await back()
      await back()
      await click('forward')
      await page.until(`${step} === ${JSON.stringify(once)}`)
      await page.evaluate(`(() => {
        const moment = document.querySelector('#moment')
        moment.value = '0'
        moment.dispatchEvent(new Event('input'))
      })()`)
      await page.until(`document.querySelectorAll('#rows tr').length === 0`)
      await click('replay')
      await page.until(`document.querySelectorAll('#rows tr').length === 1`)
      await click('stop')
      await page.until(`${text('mode')} === 'now' && document.querySelectorAll('#rows tr').length === 2`)
    })
  })

  it('the page creates a claim by keyboard, and shows the result', async () => {
    await onPage(async ({ page }) => {
      await page.until(`document.querySelector('form') !== null`)
      const submit = `document.querySelector('[data-action=createClaim]').requestSubmit()`
      await page.evaluate(submit)
      await page.until(`${text('answer')} === 'Claim data-1 is created.'`)
      await page.until(`${textOf('claim/default/data-1')}.includes('Bound')`)
      await page.evaluate(submit)
      await page.until(`${text('answer')}.includes('already exists')`)
    })
  })

  it('the forms of the page offer existing objects, and show an error next to its field', async () => {
    await onPage(async ({ test, page }) => {
      await page.until(`document.querySelector('form') !== null`)
      const inputOf = (form: string, name: string): string => `document.querySelector('#${form}-${name}')`
      const choices = (form: string, name: string): string =>
        `[...${inputOf(form, name)}.options].map(({ text }) => text).join()`
      const submit = (form: string): string => `document.querySelector('[data-action=${form}]').requestSubmit()`
      await page.until(`${choices('createPod', 'node')} === 'any node,node-1,node-2'`)
      expect(await page.evaluate(choices('createPod', 'claim'))).toBe('no claim yet')
      expect(await page.evaluate(choices('createClaim', 'class'))).toBe('the default class,devcluster,fast')
      await page.evaluate(`${inputOf('createClaim', 'size')}.value = 'big'; ${submit('createClaim')}`)
      await page.until(`${inputOf('createClaim', 'size')}.ariaInvalid === 'true'`)
      const error = `document.getElementById(${inputOf('createClaim', 'size')}.getAttribute('aria-describedby'))`
      expect(await page.evaluate(`${error}.innerText`)).toBe('Size must be a size such as 1Gi or 500M.')
      expect(await page.evaluate(`document.activeElement === ${inputOf('createClaim', 'size')}`)).toBe(true)
      await page.evaluate(`${inputOf('createClaim', 'size')}.value = '2Gi'; ${submit('createClaim')}`)
      await page.until(`${text('answer')} === 'Claim data-1 is created.'`)
      expect(await page.evaluate(`document.querySelector('[aria-invalid]') === null`)).toBe(true)
      await page.until(`${choices('createPod', 'claim')} === 'data-1'`)
      await page.evaluate(submit('createClaim'))
      await page.until(`${inputOf('createClaim', 'name')}.ariaInvalid === 'true'`)
      expect(test.api.list(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(1)
    })
  })

  it('the page offers to run the demo if there are no rows, but not if the filter hides all rows', async () => {
    await onPage(async ({ test, page }) => {
      const isShown = (id: string): string => `document.querySelector('#${id}').checkVisibility()`
      await page.until(`${isShown('run-story')}`)
      await page.evaluate(`document.querySelector('#run-story').click()`)
      await page.until(`${text('answer')} === 'The story runs up to step 6.'`)
      await page.until(`document.querySelectorAll('#rows tr').length === 1 && !${isShown('run-story')}`)
      await test.cluster.client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('other'))
      await page.evaluate(`(() => {
        const filter = document.querySelector('#filter')
        filter.value = 'nothing has this name'
        filter.dispatchEvent(new Event('input'))
      })()`)
      await page.until(`${isShown('none-fits')} && !${isShown('run-story')}`)
    })
  })

  it('the page moves a volume in the picture to the node of its pod', async () => {
    await onPage(async ({ test, page }) => {
      const { client } = test.cluster
      const boxOf = (key: string): string =>
        `document.querySelector('[data-chip="${key}"]')?.closest('.box').querySelector('h3').innerText`
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
      await page.until(`${boxOf(ROW)} === 'Volumes on no node'`)
      await page.evaluate(`window.chip = document.querySelector('[data-chip="${ROW}"]')`)
      await client.create(PODS, podOf('app', 'node-2', 'data'))
      await page.until(`window.chip.closest('.box').querySelector('h3').innerText === 'node-2'`)
      expect(await page.evaluate(`window.chip.getAnimations().length`)).toBe(1)
      await page.until(`${boxOf('pod/default/app')} === 'node-2' && window.chip.innerText.includes('mounted')`)
      await page.until(`window.chip.getAnimations().length === 0`)
    })
  })

  it('the page shows the warning of a row until the row has recovered', async () => {
    await onPage(async ({ test, page }) => {
      const { client } = test.cluster
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
      await client.create(PODS, podOf('app', 'node-1', 'data'))
      await test.until(PODS, inDefault('app'), isRunning)
      await client.create(PODS, podOf('second', 'node-2', 'data'))
      const warning = `${row()}?.querySelector('.event .bad')?.checkVisibility()`
      await page.until(`${warning} && ${row()}.innerText.includes('Multi-Attach')`)
      await client.delete(PODS, inDefault('app'))
      await page.until(`${place('node-2')} === 'node-2 mounted in second'`)
      await page.until(`${textOf()}.includes('desired state reached') && !${warning}`)
      expect(await page.evaluate(`${textOf()}.includes('Multi-Attach')`)).toBe(false)
    })
  })

  it('the page shows the controls next to the table at 1280 pixels, and in one column on a phone', async () => {
    await onPage(async ({ page }) => {
      await page.until(`document.querySelector('form') !== null`)
      const box = (id: string) =>
        page.evaluate<Edges>(`document.querySelector('#${id}').getBoundingClientRect().toJSON()`)
      await page.setAppearance({ width: 1280, height: 900, scheme: 'light' })
      const [waiting, table, controls] = [await box('waiting'), await box('table'), await box('controls')]
      expect(controls.left).toBeGreaterThan(table.right)
      expect(controls.top).toBe(waiting.top)
      await page.setAppearance({ width: 390, height: 844, scheme: 'light' })
      expect((await box('controls')).top).toBeGreaterThan((await box('table')).bottom)
    })
  })

  it('the page runs a step of the demo on request, shows the lines of the step, and replays the step', async () => {
    await onPage(async ({ page }) => {
      const step = (number: number): string => `document.querySelectorAll('.step')[${number - 1}]`
      await page.until(`${step(2)} !== undefined && !${step(2)}.querySelector('button').disabled`)
      await page.evaluate(`${step(2)}.querySelector('button').click()`)
      await page.until(`${step(2)}.innerText.includes('succeeded')`)
      expect(await page.evaluate(`${step(2)}.querySelector('ol').children.length`)).toBeGreaterThan(5)
      await page.evaluate(`${step(2)}.querySelectorAll('button')[1].click()`)
      await page.until(`document.body.dataset.mode === 'replaying'`)
      await page.until(`${textOf()}.includes('csi-attacher: attaches the volume')`)
    })
  })

  it('the page shows HTML in a message of the cluster as plain text', async () => {
    await onPage(async ({ test, page }) => {
      test.api.create(EVENTS, {
        metadata: { name: 'bad', namespace: 'default' },
        involvedObject: { kind: 'Pod', name: 'x', namespace: 'default' },
        source: { component: 'attachdetach-controller' },
        reason: 'Bad',
        message: '<img src=x onerror="document.title=1">',
      })
      await page.until(`${text('lines')}.includes('<img')`)
      expect(await page.evaluate(`document.querySelectorAll('img').length`)).toBe(0)
    })
  })

  it('the page filters the rows by name', async () => {
    await onPage(async ({ test, page }) => {
      for (const name of ['alpha', 'beta']) await test.cluster.client.create(PERSISTENT_VOLUME_CLAIMS, claimOf(name))
      await page.until(`document.querySelectorAll('#rows tr').length === 2`)
      await page.evaluate(`(() => {
        const filter = document.querySelector('#filter')
        filter.value = 'ALP'
        filter.dispatchEvent(new Event('input'))
      })()`)
      await page.until(`document.querySelectorAll('#rows tr').length === 1`)
      expect(await page.evaluate(`${row('claim/default/alpha')} !== null`)).toBe(true)
    })
  })

  it('the page shows that the connection is lost when the cluster has stopped', async () => {
    await using test = await startTestCluster()
    const served = await servePage(test)
    await using page = await browser.open(served.url)
    await page.until(`${text('link')} === 'connected'`)
    await served[Symbol.asyncDispose]()
    await page.until(`document.querySelector('#link').className === 'lost'`)
  })
})

/** Returns the accessibility violations that axe-core finds: the rule, the element and the reason. */
async function violationsOf(page: BrowserPage): Promise<readonly string[]> {
  await page.evaluate(`${axe.source}; 0`)
  // This rule is off by default: the name that a screen reader speaks must contain the visible text.
  const options = { rules: { 'label-content-name-mismatch': { enabled: true } }, resultTypes: ['violations'] }
  return await page.evaluate<string[]>(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary].join(': '))))`)
}

/** Returns the elements that users of a screen reader or a keyboard cannot use. */
async function lackOf(page: BrowserPage): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`(() => {
    const lacks = []
    const visible = (element) => element.checkVisibility()
    for (const input of document.querySelectorAll('input, select')) {
      if (visible(input) && !input.labels?.length && !input.ariaLabel) lacks.push('no label: ' + input.outerHTML)
    }
    for (const button of document.querySelectorAll('button')) {
      if (visible(button) && (button.ariaLabel ?? button.textContent).trim() === '') lacks.push('no name: ' + button.outerHTML)
    }
    for (const th of document.querySelectorAll('th')) if (th.scope === '') lacks.push('no scope: ' + th.outerHTML)
    if (document.querySelector('table > caption') === null) lacks.push('no caption')
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) lacks.push('twice: ' + id)
    for (const id of ['link', 'waiting-title', 'answer']) {
      if (document.getElementById(id).role !== 'status') lacks.push('not read aloud: ' + id)
    }
    return lacks
  })()`)
}
