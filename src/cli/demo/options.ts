/** What `reprise demo` can be told. */
export interface DemoOptions {
  /** Nobody is asked anything. */
  readonly once?: true;
  readonly json?: true;
  /** The user's own orders, instead of the story. */
  readonly input?: string;
  readonly verify?: string;
  readonly allowForgetfulStore?: true;
}
