import { basename } from 'node:path'
import { sha256Of } from '../files.ts'
import type { Page, PageState } from '../page.ts'

/** A release page in memory, with the rules of a real one: one draft for a tag, no change after it is published. */
export class MemoryPage implements Page {
  state: PageState | undefined
  notes = ''

  async read(): Promise<PageState | undefined> {
    return this.state
  }

  async createDraft(notes: string): Promise<void> {
    if (this.state !== undefined) throw new Error('a second draft for the same tag')
    this.notes = notes
    this.state = { draft: true, files: {} }
  }

  async upload(file: string): Promise<void> {
    if (this.state?.draft !== true) throw new Error(`upload of ${file} to a page that is no draft`)
    this.state = { draft: true, files: { ...this.state.files, [basename(file)]: sha256Of(file) } }
  }

  async publish(): Promise<void> {
    if (this.state === undefined) throw new Error('no draft to publish')
    this.state = { ...this.state, draft: false }
  }
}
