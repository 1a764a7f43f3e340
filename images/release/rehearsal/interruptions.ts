import { digestOf } from '../../tools/layout.ts'
import type { Page } from '../page.ts'
import type { Storage } from '../registry.ts'
import type { Signer } from '../signer.ts'

/** What a release changes outside of its own machine. */
export interface Outside {
  readonly storage: Storage
  readonly signer: Signer
  readonly page: Page
}

export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** The changes that were made, in order. With a limit, the run ends right after so many: as if its answer were lost. */
export class Interruptions {
  readonly changes: string[] = []
  readonly #limit: number

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit
  }

  around({ storage, signer, page }: Outside): Outside {
    return {
      storage: {
        digestOf: (repository, reference) => storage.digestOf(repository, reference),
        hasBlob: (repository, digest) => storage.hasBlob(repository, digest),
        putBlob: (repository, content) =>
          this.#change(`${repository} ${digestOf(content)}`, storage.putBlob(repository, content)),
        putManifest: (repository, reference, manifest) =>
          this.#change(`${repository} ${reference}`, storage.putManifest(repository, reference, manifest)),
      },
      signer: {
        isSigned: (subject) => signer.isSigned(subject),
        isAttested: (subject, statement) => signer.isAttested(subject, statement),
        sign: (subject) => this.#change(`signature of ${subject}`, signer.sign(subject)),
        attest: (subject, statement) =>
          this.#change(`${statement.type} of ${subject}`, signer.attest(subject, statement)),
        signFile: (file) => signer.signFile(file),
      },
      page: {
        read: () => page.read(),
        createDraft: (notes) => this.#change('draft of the page', page.createDraft(notes)),
        upload: (file) => this.#change(`upload of ${file}`, page.upload(file)),
        publish: () => this.#change('publication of the page', page.publish()),
      },
    }
  }

  async #change(what: string, made: Promise<void>): Promise<void> {
    await made
    this.changes.push(what)
    if (this.changes.length >= this.#limit) throw new Interrupted(`after ${what}`)
  }
}

/** Runs a release again and again, each time interrupted after one change, until it ends by itself. */
export async function runInterrupted(
  outside: Outside,
  run: (outside: Outside) => Promise<void>,
): Promise<readonly string[]> {
  const changes: string[] = []
  for (;;) {
    const interruptions = new Interruptions(1)
    try {
      await run(interruptions.around(outside))
      return changes
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
      const [change = ''] = interruptions.changes
      if (changes.includes(change)) throw new Error(`the release does not notice that it is done: ${change}`)
      changes.push(change)
    }
  }
}
