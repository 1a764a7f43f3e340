/** The names by which calls know the volumes of rows: handles, and the chosen names of volumes in creation. */
export class Handles {
  readonly #ofRows = new Map<string, string>()
  readonly #rows = new Map<string, string>()

  of(row: string): string | undefined {
    return this.#ofRows.get(row)
  }

  rowOf(handle: string): string | undefined {
    return this.#rows.get(handle)
  }

  set(row: string, handle: string): void {
    if (this.#ofRows.get(row) === handle) return
    this.delete(row)
    this.#ofRows.set(row, handle)
    this.#rows.set(handle, row)
  }

  delete(row: string): void {
    const handle = this.#ofRows.get(row)
    if (handle !== undefined && this.#rows.get(handle) === row) this.#rows.delete(handle)
    this.#ofRows.delete(row)
  }
}
