import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sha256Of } from './files.ts'
import { SIGNATURE } from './signer.ts'

const run = promisify(execFile)
const LIMIT = 10 * 60_000
const MOST_BYTES = 64 * 1024 * 1024

/** The page of one release, as it is now. */
export interface PageState {
  readonly draft: boolean
  /** SHA-256 of each file that has arrived completely, by name. */
  readonly files: Readonly<Record<string, string>>
}

export interface Page {
  /** Undefined only if the list of releases was read and has none for the tag. */
  read(): Promise<PageState | undefined>
  createDraft(notes: string): Promise<void>
  upload(file: string): Promise<void>
  publish(): Promise<void>
}

/**
 * Completes the page: it is a draft until it has every file. A file that is there with other content ends it. A signature
 * stays, since every signing gives another one and the first holds as well.
 */
export async function completePage(page: Page, folder: string, notes: string): Promise<void> {
  if ((await page.read()) === undefined) await page.createDraft(notes)
  const state = await page.read()
  if (state === undefined) throw new Error('the draft of the release page was created and is not there')
  const missing = missingFiles(folder, state)
  if (!state.draft && missing.length > 0) {
    throw new Error(`the release page is published without ${missing.join(', ')}: add them by hand, or delete the page`)
  }
  for (const name of missing) await page.upload(join(folder, name))
  if (state.draft) await page.publish()
}

function missingFiles(folder: string, { files }: PageState): readonly string[] {
  return readdirSync(folder)
    .sort()
    .filter((name) => {
      const there = files[name]
      if (there === undefined) return true
      if (name.endsWith(SIGNATURE) || there === sha256Of(join(folder, name))) return false
      throw new Error(`the release page has a ${name} with other content`)
    })
}

interface GitHubRelease {
  readonly tag_name: string
  readonly draft: boolean
  readonly assets: readonly { readonly name: string; readonly state: string; readonly digest: string | null }[]
}

/** Reads what the API says of the releases of a repository. A file that did not arrive completely is not there. */
export function pageStateOf(releases: readonly GitHubRelease[], tag: string): PageState | undefined {
  const found = releases.find(({ tag_name }) => tag_name === tag)
  if (found === undefined) return undefined
  const complete = found.assets.filter(({ state }) => state === 'uploaded')
  const files = complete.map(({ name, digest }) => [name, (digest ?? '').replace('sha256:', '')] as const)
  return { draft: found.draft, files: Object.fromEntries(files) }
}

/** The release page of GitHub, through its program. */
export class GitHubPage implements Page {
  readonly #repository: string
  readonly #tag: string

  constructor(repository: string, tag: string) {
    this.#repository = repository
    this.#tag = tag
  }

  /** Only the list has drafts. */
  async read(): Promise<PageState | undefined> {
    const { stdout } = await this.#gh('api', `repos/${this.#repository}/releases?per_page=100`)
    return pageStateOf(JSON.parse(stdout) as readonly GitHubRelease[], this.#tag)
  }

  async createDraft(notes: string): Promise<void> {
    const kind = this.#tag.includes('-') ? ['--prerelease'] : []
    const text = ['--title', this.#tag, '--notes', notes]
    await this.#gh('release', 'create', this.#tag, '--draft', '--verify-tag', ...text, ...kind, ...this.#where())
  }

  async upload(file: string): Promise<void> {
    await this.#gh('release', 'upload', this.#tag, file, '--clobber', ...this.#where())
  }

  async publish(): Promise<void> {
    await this.#gh('release', 'edit', this.#tag, '--draft=false', ...this.#where())
  }

  #where(): readonly string[] {
    return ['--repo', this.#repository]
  }

  #gh(...args: readonly string[]): Promise<{ stdout: string }> {
    return run('gh', args, { timeout: LIMIT, maxBuffer: MOST_BYTES, encoding: 'utf8' })
  }
}
