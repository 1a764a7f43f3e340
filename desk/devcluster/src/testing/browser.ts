import { spawnSync } from 'node:child_process'
import { chromium, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'headless_shell']

/** A headless browser. */
export interface Browser extends AsyncDisposable {
  open(url: string): Promise<BrowserPage>
}

/** One open page of the headless browser. Disposing of it closes the page. */
export interface BrowserPage extends AsyncDisposable {
  /** Returns the value of an expression in the page. The value must be JSON. */
  evaluate<T>(expression: string): Promise<T>
  /** Resolves as soon as the expression in the page is true. It is evaluated at each screen refresh. */
  until(expression: string): Promise<void>
  /** Resolves when all animations of the page have ended. */
  untilStill(): Promise<void>
  screenshot(): Promise<Buffer>
  /** Sets the size of the window and the colour scheme. */
  setAppearance(like: Appearance): Promise<void>
  /** Errors in the page's log, and files that it could not load. */
  readonly problems: readonly string[]
}

/** The window and the colour scheme in which a page is shown. Sizes are CSS pixels. */
export interface Appearance {
  readonly width: number
  readonly height: number
  readonly scheme: 'light' | 'dark'
}

/** Returns the path of an installed browser. Undefined if there is none. */
export function findBrowser(): string | undefined {
  const paths = NAMES.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim())
  return paths.find((path) => path !== '')
}

const TIMEOUT_MS = 20_000
const SIZE = { width: 1200, height: 800 }

export async function startBrowser(path: string): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
  const browser = await chromium.launch({ executablePath: path, args })
  return {
    open: async (url) => await openPage(await browser.newPage({ viewport: SIZE }), url),
    [Symbol.asyncDispose]: async () => await browser.close(),
  }
}

async function openPage(page: Page, url: string): Promise<BrowserPage> {
  page.setDefaultTimeout(TIMEOUT_MS)
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`${message.text()} ${message.location().url}`)
  })
  await page.goto(url)
  const until = async (expression: string): Promise<void> => await page.evaluate(untilTrue(expression))
  return {
    evaluate: async (expression) => await page.evaluate(expression),
    until,
    untilStill: async () => await until('document.getAnimations().length === 0'),
    screenshot: async () => await page.screenshot(),
    setAppearance: async ({ width, height, scheme }) => {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme: scheme })
    },
    problems,
    [Symbol.asyncDispose]: async () => await page.close(),
  }
}

/** Returns a promise in the page. `waitForFunction` evaluates a string later, which the policy of the page refuses. */
function untilTrue(expression: string): string {
  return `new Promise((resolve, reject) => {
    const end = performance.now() + ${TIMEOUT_MS}
    const check = () => {
      if (${expression}) resolve()
      else if (performance.now() > end) reject(new Error('never true: ' + document.body.innerText))
      else requestAnimationFrame(check)
    }
    check()
  })`
}
